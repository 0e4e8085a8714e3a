# %% [markdown]
# # A day of weather that nobody else sees
#
# A board measures the temperature every hour. A server answers questions about it, and the key
# owner reads the answers. The server sees how many readings there are, what they are called and
# in what range they are, and nothing else.
#
# The cells of this file run in Jupyter, VS Code or Spyder, or as a plain program.

# %%
import numpy as np

import tfhe_sbc as ts

hours = np.array([f"{hour:02}:00" for hour in range(0, 24, 3)])
temperature = np.array([11.5, 10.0, 9.5, 14.0, 19.5, 22.0, 18.5, 13.0])
humidity = np.array([80, 86, 90, 74, 52, 41, 58, 72])

# %% [markdown]
# ## Keys
#
# The key owner makes them once. The secret key stays here.

# %%
keys = ts.keygen()
keys

# %% [markdown]
# ## On the board
#
# `scale` is the step of the sensor, `offset` the lowest reading, and `bits` says how far it goes:
# to −20 + 0.5 · 127 = 43.5 °C and to 127 %.

# %%
columns = [
    ts.Column("temperature", scale=0.5, offset=-20, bits=7, unit="°C"),
    ts.Column("humidity", bits=7, unit="%"),
]
readings = {"temperature": temperature, "humidity": humidity}
box = ts.Encryptor(keys.device).encrypt(readings, columns=columns, rows=hours)
print(f"{len(temperature)} rows of 2 columns are {len(box)} bytes")

# %% [markdown]
# ## Trying a computation out
#
# A rehearsal does on clear readings what the server does on encrypted ones. It is fast, and it
# tells what the computation costs.

# %%
day = ts.Rehearsal().load(readings, columns=columns, rows=hours)


def comfortable(day):
    """Hours that are neither cold nor damp."""
    return (day["temperature"] >= 15) & (day["humidity"] < 60)


print(ts.Rehearsal().decrypt(comfortable(day)))
print(ts.cost(comfortable(day)))

# %% [markdown]
# ## On the server
#
# The same function, on ciphertexts. Nothing is computed until `compute` says so; what the results
# have in common is then computed once.

# %%
server = ts.Server(keys.server)
day = server.load(box)
nice, warmest = comfortable(day), day["temperature"].idxmax()
mean = day["temperature"].mean()
damp_in_the_cold = day["humidity"][day["temperature"] < 12].mean()
quartiles = [day["temperature"].percentile(q, "lower") for q in (25, 75)]
ts.compute(nice, warmest, mean, damp_in_the_cold, *quartiles)

# %% [markdown]
# ## At the key owner's

# %%
decrypt = keys.secret.decrypt
print("comfortable:", hours[decrypt(nice)])
print("warmest:", decrypt(warmest))
print("mean:", decrypt(mean))
print("how damp in the cold:", decrypt(damp_in_the_cold))
print("quartiles:", [decrypt(quartile) for quartile in quartiles])

# %% [markdown]
# The answers are those of numpy on the readings themselves.

# %%
met = (temperature >= 15) & (humidity < 60)
assert (decrypt(nice) == met).all()
assert decrypt(warmest) == (hours[temperature.argmax()], temperature.max())
assert abs(decrypt(mean) - temperature.mean()) < 1e-9
cold = humidity[temperature < 12].mean()
assert np.isclose(decrypt(damp_in_the_cold), cold)
lower = [np.percentile(temperature, q, method="lower") for q in (25, 75)]
assert [decrypt(quartile) for quartile in quartiles] == lower
