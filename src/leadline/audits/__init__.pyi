from .advice_audit import advice_report as advice_report
from .landscape_audit import landscape_report as landscape_report
from .named_audits import AUDITS as AUDITS, audit as audit
from .network_at_point import NetworkAtPoint as NetworkAtPoint
from .stress_bench import TRIALS as TRIALS, stress as stress
