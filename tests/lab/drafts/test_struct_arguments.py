"""Drafts of kernels that take a structure of pointers and sizes, and a class of constants as template argument."""

from __future__ import annotations

from pathlib import Path

import yaml

from gpuregress.lab.drafts import new
from gpuregress.session import session
from gpuregress.session.run_request import RunRequest
from gpuregress.store.project import Project

HEADER = """\
#pragma once
struct ParamsBase { int batch, dim, seqlen; };
struct Filter { int width; unsigned stride; const float *weight; };
struct ConvParams : public ParamsBase {
    unsigned x_batch_stride, x_c_stride;
    void *__restrict__ x_ptr; Filter filter; float *bias_ptr; void *out_ptr; bool silu;
};
"""
SOURCE = """\
#include "conv.h"
#define BOOL_SWITCH(COND, NAME, ...) [&] { \\
    if (COND) { static constexpr bool NAME = true; return __VA_ARGS__(); } \\
    else { static constexpr bool NAME = false; return __VA_ARGS__(); } }()
template <int kNThreads_, int kWidth_, bool kVec_, typename input_t_> struct Conv_traits {
    using input_t = input_t_;
    static constexpr int kNThreads = kNThreads_;
    static constexpr int kWidth = kWidth_;
    static constexpr bool kVec = kVec_;
    static constexpr int kSmemSize = kNThreads * sizeof(input_t);
};
template <typename Ktraits> __global__ void conv_kernel(ConvParams params) {
    extern __shared__ char smem[];
    using input_t = typename Ktraits::input_t;
    int b = blockIdx.x, c = blockIdx.y;
    input_t *x = reinterpret_cast<input_t *>(params.x_ptr) + b * params.x_batch_stride + c * params.x_c_stride;
    input_t *out = reinterpret_cast<input_t *>(params.out_ptr) + b * params.x_batch_stride + c * params.x_c_stride;
    const float *w = params.filter.weight + c * params.filter.stride;
    for (int i = threadIdx.x; i < params.seqlen; i += Ktraits::kNThreads) {
        input_t sum = params.bias_ptr ? params.bias_ptr[c] : input_t(0);
        for (int k = 0; k < Ktraits::kWidth; k++) if (i - k >= 0) sum += w[k] * x[i - k];
        out[i] = sum;
    }
}
template <int kNThreads, int kWidth, typename input_t> void conv_launch(ConvParams &params, cudaStream_t stream) {
    static constexpr int kNElts = sizeof(input_t) == 4 ? 4 : 8;
    BOOL_SWITCH(params.seqlen % kNElts == 0, kIsVec, [&] {
        using Ktraits = Conv_traits<kNThreads, kWidth, kIsVec, input_t>;
        constexpr int kSmemSize = Ktraits::kSmemSize;
        dim3 grid(params.batch, params.dim);
        auto kernel = &conv_kernel<Ktraits>;
        kernel<<<grid, Ktraits::kNThreads, kSmemSize, stream>>>(params);
    });
}
template <typename input_t> void conv_cuda(ConvParams &params, cudaStream_t stream) {
    if (params.filter.width == 2) conv_launch<128, 2, input_t>(params, stream);
    else if (params.filter.width == 3) conv_launch<128, 3, input_t>(params, stream);
}
template void conv_cuda<float>(ConvParams &params, cudaStream_t stream);
template void conv_cuda<double>(ConvParams &params, cudaStream_t stream);
"""
CALLER = """\
#include "conv.h"
#define CHECK_SHAPE(x, ...) TORCH_CHECK(x.sizes() == torch::IntArrayRef({__VA_ARGS__}), #x " has another shape")
template <typename input_t> void conv_cuda(ConvParams &params, cudaStream_t stream);
void set_params(ConvParams &params, const int batch, const int dim, const int seqlen, const int width,
                const at::Tensor x, const at::Tensor weight, const at::Tensor out, void *bias_ptr, bool silu) {
    memset(&params, 0, sizeof(params));
    params.batch = batch; params.dim = dim; params.seqlen = seqlen;
    params.filter.width = width; params.filter.weight = weight.data_ptr<float>();
    params.filter.stride = weight.stride(0);
    params.silu = silu;
    params.x_ptr = x.data_ptr(); params.out_ptr = out.data_ptr(); params.bias_ptr = bias_ptr;
    params.x_batch_stride = x.stride(0); params.x_c_stride = x.stride(1);
}
at::Tensor conv_fwd(const at::Tensor &x, const at::Tensor &weight, const c10::optional<at::Tensor> &bias_, bool silu) {
    const auto sizes = x.sizes();
    const int batch_size = sizes[0];
    const int dim = sizes[1];
    const int seqlen = sizes[2];
    const int width = weight.size(-1);
    CHECK_SHAPE(x, batch_size, dim, seqlen);
    CHECK_SHAPE(weight, dim, width);
    at::Tensor out = torch::empty_like(x);
    ConvParams params;
    set_params(params, batch_size, dim, seqlen, width, x, weight, out,
               bias_.has_value() ? bias_.value().data_ptr() : nullptr, silu);
    auto stream = at::cuda::getCurrentCUDAStream().stream();
    if (x.scalar_type() == at::ScalarType::Float) conv_cuda<float>(params, stream);
    else conv_cuda<double>(params, stream);
    return out;
}
"""
ARGUMENT = {
    "batch": {"int32": "x_size_0"},
    "dim": {"int32": "x_size_1"},
    "seqlen": {"int32": "x_size_2"},
    "x_batch_stride": {"uint32": "x_size_1 * x_size_2"},
    "x_c_stride": {"uint32": "x_size_2"},
    "x_ptr": "params_x_ptr",
    "filter.width": {"int32": "weight_size_1"},
    "filter.stride": {"uint32": "weight_size_1"},
    "filter.weight": "params_filter_weight",
    "bias_ptr": None,  # an optional tensor
    "out_ptr": "params_out_ptr",
    "silu": {"bool": False},
}


def drafted(folder: Path, files: dict[str, str]) -> tuple[Project, new.Draft]:
    """Write the job of the kernel, and its project."""
    for name, text in files.items():
        (folder / name).write_text(text)
    project = Project(folder, folder / "configs", folder / "baselines", folder / "runs")
    (draft,) = new.draft_kernels(project, folder / "conv.cu")
    return project, draft


def test_the_function_that_fills_a_structure_tells_its_members(tmp_path: Path) -> None:
    project, draft = drafted(tmp_path, {"conv.cu": SOURCE, "conv.h": HEADER, "conv.cpp": CALLER})
    job = yaml.safe_load(draft.path.read_text())
    (launch,) = job["launches"]
    # The branch that makes the launch wants a width of 2; the shared memory is a constant of the class.
    assert launch["kernel"] == "conv_kernel<Conv_traits<128,2,1,double>>"
    assert (launch["grid"], launch["block"], launch["shared"]) == (["x_size_0", "x_size_1"], [128], 1024)
    assert job["parameters"] == {"x_size_0": [64], "x_size_1": [64], "x_size_2": [64], "weight_size_1": [2]}
    assert launch["args"] == [{"struct": ARGUMENT}]
    # The kernel casts its void pointers to the type of the class.
    assert job["buffers"]["params_x_ptr"]["dtype"] == job["buffers"]["params_out_ptr"]["dtype"] == "float64"
    assert job["buffers"]["params_out_ptr"]["shape"] == ["x_size_0", "x_size_1", "x_size_2"]
    assert job["buffers"]["params_filter_weight"]["shape"] == ["x_size_1", "weight_size_1"]
    assert draft.guessed_sizes == ()
    (verdict,) = session.run(project, [str(draft.path)], RunRequest(device="cpu")).verdicts
    assert verdict.status == "new"


def test_explicit_instantiations_tell_the_types_without_a_caller(tmp_path: Path) -> None:
    _, draft = drafted(tmp_path, {"conv.cu": SOURCE, "conv.h": HEADER})
    job = yaml.safe_load(draft.path.read_text())
    (launch,) = job["launches"]
    assert launch["kernel"] == "conv_kernel<Conv_traits<128,2,1,float>>"
    assert launch["grid"] == ["batch", "dim"]
    (members,) = [argument["struct"] for argument in launch["args"]]
    assert list(members) == list(ARGUMENT)
    assert (members["batch"], members["filter.width"]) == ({"int32": "batch"}, {"int32": "width"})
    assert "params.x_c_stride: its value (conv.cu:27)" in draft.needed


def test_any_name_of_a_member_or_a_path_is_a_scalar_of_a_draft(tmp_path: Path) -> None:
    source = tmp_path / "a [1], {b}: #2.cu"
    source.write_text(
        "struct Params { int n; int attributes[3]; float *out; };\n"
        "__global__ void f(const Params p) { if (p.n > p.attributes[1]) p.out[threadIdx.x] = p.attributes[2]; }\n"
    )
    project = Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")
    (draft,) = new.draft_kernels(project, source)  # no launch: the members stand in a mapping of one line
    job = yaml.safe_load(draft.path.read_text())
    assert job["source"] == "../a [1], {b}: #2.cu"
    (members,) = [argument["struct"] for argument in job["launches"][0]["args"]]
    assert list(members) == ["n", "attributes[0]", "attributes[1]", "attributes[2]", "out"]


def test_a_member_that_gets_an_unknown_value_is_needed(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(
        "struct View { float *data; size_t step; };\n"
        "struct Base { const float *points; size_t size; };\n"
        "struct Work : Base { View output; int *unused; };\n"
        "__global__ void f(const Work w) { if (threadIdx.x < w.size) w.output.data[w.output.step] = w.points[0]; }\n"
        "void run(const Cloud &cloud, Array2D &out) {\n"
        "    Work w; w.points = cloud.points; w.size = out.rows(); w.output = out; f<<<1, 32>>>(w); }\n"
    )
    project = Project(tmp_path, tmp_path / "configs", tmp_path / "baselines", tmp_path / "runs")
    (draft,) = new.draft_kernels(project, source)
    job = yaml.safe_load(draft.path.read_text())
    (members,) = [argument["struct"] for argument in job["launches"][0]["args"]]
    assert members["output.data"] == "w_output_data"
    assert members["points"] == "w_points"
    assert members["unused"] is None or members["unused"] == "null"
    assert any(needed.startswith("w.output.step") for needed in draft.needed)
