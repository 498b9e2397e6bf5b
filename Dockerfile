# gpuregress in a container, where the current folder is the project:
#
#     docker build -t gpuregress .
#     docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/project" gpuregress run
#
# Without --user the files of a run belong to root.
#
# A GPU needs NVIDIA's container toolkit on the host. pycuda is compiled, so it needs CUDA's headers. EXTRA='' is enough
# for reports and for what `gpuregress build` has compiled:
#
#     docker build --build-arg BASE=nvidia/cuda:13.0.1-devel-ubuntu24.04 --build-arg EXTRA='[cuda]' -t gpuregress-gpu .
#     docker run --rm --gpus all --user "$(id -u):$(id -g)" -v "$PWD:/project" gpuregress-gpu run --device cuda
ARG BASE=ubuntu:24.04
FROM ${BASE}
ARG EXTRA="[cpu]"
# `gpuregress exec` builds its driver library with a C compiler.
RUN case "${EXTRA}" in *cuda*) compiler="g++ python3-dev" ;; *cpu*) compiler="gcc libc6-dev" ;; *) compiler= ;; esac \
    && apt-get update \
    && apt-get install -y --no-install-recommends git python3 python3-venv ${compiler} \
    && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN python3 -m venv /opt/gpuregress \
    && /opt/gpuregress/bin/pip install --no-cache-dir "/source${EXTRA}" \
    && rm -rf /source
# The container may run as any user, and the project may be of another one. Each user has a folder of the cache, because
# one that others may write is not used.
RUN git config --system --add safe.directory '*' && install -d -m 1777 /var/cache/gpuregress
ENV PATH=/opt/gpuregress/bin:$PATH
VOLUME /var/cache/gpuregress
WORKDIR /project
ENTRYPOINT ["sh", "-c", "GPUREGRESS_CACHE=${GPUREGRESS_CACHE-/var/cache/gpuregress/$(id -u)} exec gpuregress \"$@\"", \
    "gpuregress"]
CMD ["--help"]
