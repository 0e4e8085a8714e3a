// A server and a key owner that have TFHEpp's types and its serialization library, for TFHEpp
// itself has no package. The aliases below are what its headers make of TLWE<lvl1param>,
// TRLWE<lvl1param> and SecretKey; archives are read and written by cereal, as it does.
//
//   server compute INPUT OUTPUT [--binary]       NOT of every bit, then NAND of neighbours
//   server decrypt SECRETKEY INPUT [--binary]    the bits, as TFHEpp's programs would see them
//   server decrypt-trlwe SECRETKEY INPUT [--binary]
//
// A gate that is not followed by a bootstrap is linear: NOT is -a, and 1/8 - a - b has the sign
// of NAND. So no keys are needed here that a server of TFHEpp would have beside these.
#include <array>
#include <cereal/archives/binary.hpp>
#include <cereal/archives/portable_binary.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/vector.hpp>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::size_t n = 1024;
constexpr std::uint32_t mu = 1u << 29;

using Tlwe = std::array<std::uint32_t, n + 1>;
using Trlwe = std::array<std::array<std::uint32_t, n>, 2>;

// The fields of a SecretKey of v9 before lvl1, and lvl1.
struct KeyHead {
    std::array<std::uint16_t, 636> lvl0;
    std::array<std::uint32_t, 760> lvlhalf;
    std::array<std::uint32_t, n> lvl1;

    template <class Archive>
    void serialize(Archive& archive)
    {
        archive(lvl0, lvlhalf, lvl1);
    }
};

// Reads one object, and nothing behind it.
template <class T>
void load(const std::string& path, bool binary, T& object, bool whole = true)
{
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot open " + path);
    if (binary) {
        cereal::BinaryInputArchive archive(file);
        archive(object);
    } else {
        cereal::PortableBinaryInputArchive archive(file);
        archive(object);
    }
    if (whole && file.peek() != std::ifstream::traits_type::eof())
        throw std::runtime_error("something follows the object in " + path);
}

template <class T>
void save(const std::string& path, bool binary, const T& object)
{
    std::ofstream file(path, std::ios::binary);
    if (binary) {
        cereal::BinaryOutputArchive archive(file);
        archive(object);
    } else {
        cereal::PortableBinaryOutputArchive archive(file);
        archive(object);
    }
    if (!file) throw std::runtime_error("cannot write " + path);
}

bool bit_of(std::uint32_t phase) { return static_cast<std::int32_t>(phase) > 0; }

bool decrypt(const Tlwe& c, const std::array<std::uint32_t, n>& key)
{
    std::uint32_t phase = c[n];
    for (std::size_t i = 0; i < n; i++) phase -= c[i] * key[i];
    return bit_of(phase);
}

// The definition, coefficient by coefficient, mod X^n + 1.
std::vector<bool> decrypt(const Trlwe& c, const std::array<std::uint32_t, n>& key)
{
    std::array<std::uint32_t, n> phase = c[1];
    for (std::size_t i = 0; i < n; i++)
        for (std::size_t j = 0; j < n; j++) {
            const std::uint32_t product = c[0][i] * key[j];
            if (i + j < n)
                phase[i + j] -= product;
            else
                phase[i + j - n] += product;
        }
    std::vector<bool> bits;
    for (const std::uint32_t x : phase) bits.push_back(bit_of(x));
    return bits;
}

int run(std::vector<std::string> arguments)
{
    bool binary = false;
    if (!arguments.empty() && arguments.back() == "--binary") {
        binary = true;
        arguments.pop_back();
    }
    if (arguments.size() != 3) throw std::runtime_error("usage: see the top of server.cpp");
    if (arguments[0] == "compute") {
        std::vector<Tlwe> inputs;
        load(arguments[1], binary, inputs);
        std::vector<Tlwe> outputs;
        for (const Tlwe& a : inputs) {
            Tlwe out;
            for (std::size_t i = 0; i <= n; i++) out[i] = -a[i];
            outputs.push_back(out);
        }
        for (std::size_t place = 0; place + 1 < inputs.size(); place++) {
            Tlwe out;
            for (std::size_t i = 0; i <= n; i++) out[i] = -inputs[place][i] - inputs[place + 1][i];
            out[n] += mu;
            outputs.push_back(out);
        }
        save(arguments[2], binary, outputs);
        return 0;
    }
    const auto key = std::make_unique<KeyHead>();
    load(arguments[1], false, *key, false);
    if (arguments[0] == "decrypt") {
        std::vector<Tlwe> inputs;
        load(arguments[2], binary, inputs);
        for (const Tlwe& c : inputs) std::cout << decrypt(c, key->lvl1);
    } else if (arguments[0] == "decrypt-trlwe") {
        const auto input = std::make_unique<Trlwe>();
        load(arguments[2], binary, *input);
        for (const bool bit : decrypt(*input, key->lvl1)) std::cout << bit;
    } else {
        throw std::runtime_error("no such task: " + arguments[0]);
    }
    std::cout << '\n';
    return 0;
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        return run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::cerr << "server: " << error.what() << '\n';
        return 1;
    }
}
