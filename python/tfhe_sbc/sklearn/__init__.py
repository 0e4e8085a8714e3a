"""Models of scikit-learn that predict on encrypted rows.

    >>> encrypted = ts.sklearn.from_model(fitted).predict(table)
    >>> keys.secret.decrypt(encrypted)

scikit-learn is needed where models are converted: ``pip install 'tfhe-sbc[sklearn]'``.
"""

from ._convert import from_model
from ._model import EncryptedModel, Loss
from ._prediction import EncryptedPrediction

__all__ = ["EncryptedModel", "EncryptedPrediction", "Loss", "from_model"]
