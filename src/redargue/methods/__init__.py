"""How a verdict is reached: one folder per published method.

A method of your own needs the names exported here and the tasks of :mod:`redargue.tasks`.
"""

from redargue.methods.agent import Agent as Agent
from redargue.methods.base import FROM_SETTINGS as FROM_SETTINGS
from redargue.methods.base import Method as Method
from redargue.methods.base import MethodSettings as MethodSettings
from redargue.methods.base import SearchSettings as SearchSettings
from redargue.methods.base import methods as methods
from redargue.methods.setting_types import Facts as Facts
from redargue.methods.setting_types import Word as Word
