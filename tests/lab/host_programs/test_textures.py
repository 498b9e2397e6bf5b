from __future__ import annotations

from pathlib import Path

import pytest

from gpuregress.lab.host_programs.objects import HostTexture
from tests.lab.host_programs.launched import formula, launches

KERNEL = "__global__ void k(cudaTextureObject_t t) {}\n"
ARRAY = "cudaResourceDesc r; memset(&r, 0, sizeof(r)); r.resType = cudaResourceTypeArray; r.res.array.array = a;\n"
END = "cudaTextureObject_t t = 0; cudaCreateTextureObject(&t, &r, &d, NULL); k<<<1, 8>>>(t); }\n"


def texture(folder: Path, body: str) -> HostTexture:
    (launch,) = launches(folder, f"{KERNEL}int main() {{ int w = 64, h = 32; float *x; cudaMalloc(&x, 40); {body}{END}")
    (found,) = launch.arguments
    assert isinstance(found, HostTexture)
    return found


def test_an_array_with_its_contents_and_settings(tmp_path: Path) -> None:
    found = texture(
        tmp_path,
        "cudaChannelFormatDesc c = cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsigned);\n"
        f"cudaArray_t a; cudaMallocArray(&a, &c, w, h); cudaMemcpy2DToArray(a, 0, 0, x, w, w, h, kind);\n{ARRAY}"
        "cudaTextureDesc d = {}; d.addressMode[0] = cudaAddressModeWrap; d.addressMode[1] = cudaAddressModeMirror;\n"
        "d.filterMode = cudaFilterModeLinear; d.readMode = cudaReadModeNormalizedFloat; d.normalizedCoords = true;\n",
    )
    assert found.settings == {
        "address": "[wrap, mirror]",
        "filter": "linear",
        "normalized": "true",
        "read": "normalized_float",
    }
    assert found.memory is not None
    assert (found.layout, found.memory.element, found.memory.contents.is_filled) == ("array", "uchar4", True)
    assert [formula(one) for one in found.memory.extents] == ["h", "w"]


@pytest.mark.parametrize(
    ("channel", "element"),
    [
        ("cudaCreateChannelDesc<float2>()", "float2"),
        ("cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat)", "float"),
        ("cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindSigned)", "short2"),
        ("cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned)", "unsigned char"),
        ("cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindFloat)", "half"),
        ("channel()", ""),
    ],
)
def test_elements_of_a_channel_description(tmp_path: Path, channel: str, element: str) -> None:
    body = f"cudaChannelFormatDesc c = {channel}; cudaArray_t a; cudaMallocArray(&a, &c, w); {ARRAY}"
    found = texture(tmp_path, f"{body} cudaTextureDesc d = {{}};\n")
    assert found.memory is not None
    assert (found.memory.element, found.settings) == (element, {})
    assert [formula(one) for one in found.memory.extents] == ["w"]


def test_a_volume_with_layers(tmp_path: Path) -> None:
    found = texture(
        tmp_path,
        "cudaChannelFormatDesc c = cudaCreateChannelDesc<float>(); cudaArray_t a;\n"
        "cudaMalloc3DArray(&a, &c, make_cudaExtent(w, h, 5), cudaArrayLayered);\n"
        "cudaMemcpy3DParms p = {0}; p.srcPtr = make_cudaPitchedPtr(x, 1, w, h); p.dstArray = a;\n"
        f"cudaMemcpy3D(&p);\n{ARRAY}"
        "cudaTextureDesc d = {};\n",
    )
    assert found.memory is not None
    assert (found.memory.kind, found.memory.contents.is_filled) == ("layered", True)
    assert [one.number for one in found.memory.extents] == [5, 32, 64]


@pytest.mark.parametrize(("kind", "name", "layout"), [("Linear", "linear", "linear"), ("Pitch2D", "pitch2D", "array")])
def test_a_texture_of_device_memory(tmp_path: Path, kind: str, name: str, layout: str) -> None:
    found = texture(
        tmp_path,
        f"cudaResourceDesc r = {{}}; r.resType = cudaResourceType{kind}; r.res.{name}.devPtr = x;\n"
        f"r.res.{name}.desc = cudaCreateChannelDesc<float2>(); r.res.{name}.width = w; r.res.{name}.height = h;\n"
        "cudaTextureDesc d = {};\n",
    )
    assert found.memory is not None
    assert (found.memory.name, found.memory.element, found.layout) == ("x", "float2", layout)
    assert len(found.memory.extents) == (0 if layout == "linear" else 2)


def test_a_texture_of_which_nothing_is_known(tmp_path: Path) -> None:
    found = texture(tmp_path, "cudaResourceDesc r = made(); cudaTextureDesc d = {};\n")
    assert found.memory is None
