"""Methods that ask a model what it knows, without evidence; the embedded backend cannot perform them."""

from redargue.methods.baselines.closed_book.no_search import NoSearch as NoSearch
from redargue.methods.baselines.closed_book.self_check import SelfCheckMethod as SelfCheckMethod
from redargue.methods.baselines.closed_book.zero_shot import ZeroShot as ZeroShot
from redargue.methods.baselines.closed_book.zero_shot_cot import ZeroShotCot as ZeroShotCot
