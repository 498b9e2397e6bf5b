/* NVIDIA's own library behind a stand-in: found in the folders that `gpuregress exec` names, and opened when first used. */
#ifndef GPUREGRESS_REAL_LIBRARY_H
#define GPUREGRESS_REAL_LIBRARY_H

#define EXPORTED __attribute__((visibility("default")))

/* The library's function; NULL where there is no such library or function. */
void *real_function(const char *library, const char *name);

#endif
