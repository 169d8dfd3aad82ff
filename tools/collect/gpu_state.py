# SPDX-License-Identifier: Apache-2.0
"""What state the GPU is in: clock, power and temperature from NVML, and the versions of the software."""
import ctypes
import datetime

SM_CLOCK = 1


class NoState:
    """Where there is no GPU."""

    def about(self):
        return {}

    def clock_mhz(self):
        return None

    def watts(self):
        return None

    def joules(self):
        return None


class NvmlState:
    """NVML through its C interface, which comes with the driver."""

    def __init__(self, index=0):
        self._nvml = ctypes.CDLL("libnvidia-ml.so.1")
        self._device = ctypes.c_void_p()
        if self._nvml.nvmlInit_v2() or self._nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(self._device)):
            raise OSError("NVML does not answer")

    def _unsigned(self, function, *kind):
        value = ctypes.c_uint()
        code = getattr(self._nvml, function)(self._device, *[ctypes.c_uint(k) for k in kind], ctypes.byref(value))
        return None if code else value.value

    def clock_mhz(self):
        return self._unsigned("nvmlDeviceGetClockInfo", SM_CLOCK)

    def watts(self):
        milliwatts = self._unsigned("nvmlDeviceGetPowerUsage")
        return None if milliwatts is None else milliwatts / 1000

    def joules(self):
        """The card's energy counter."""
        millijoules = ctypes.c_ulonglong()
        code = self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._device, ctypes.byref(millijoules))
        return None if code else millijoules.value / 1000

    def about(self):
        driver = ctypes.create_string_buffer(80)
        self._nvml.nvmlSystemGetDriverVersion(driver, 80)
        return {"driver": driver.value.decode(), "power_limit_mw": self._unsigned("nvmlDeviceGetEnforcedPowerLimit"),
                "highest_sm_clock_mhz": self._unsigned("nvmlDeviceGetMaxClockInfo", SM_CLOCK),
                "performance_state": self._unsigned("nvmlDeviceGetPerformanceState"),
                "temperature_c": self._unsigned("nvmlDeviceGetTemperature", 0),
                "clock_limit_reasons": self._reasons()}

    def _reasons(self):
        reasons = ctypes.c_ulonglong()
        code = self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._device, ctypes.byref(reasons))
        return None if code else hex(reasons.value)


def open_state(device):
    if device != "cuda":
        return NoState()
    try:
        return NvmlState()
    except (OSError, AttributeError) as error:
        print(f"collect: no clock and power: {error}")
        return NoState()


def software(torch, device):
    """Versions and the device's own figures."""
    about = {"date": datetime.date.today().isoformat(), "torch": torch.__version__, "device": "cpu"}
    if device == "cuda":
        of = torch.cuda.get_device_properties(0)
        about |= {"device": of.name, "sm_count": of.multi_processor_count, "l2_bytes": of.L2_cache_size,
                  "memory_bytes": of.total_memory, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
                  "capability": list(torch.cuda.get_device_capability(0))}
    return about
