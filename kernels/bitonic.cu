// $Revision: 1.2 $
// Bitonic sort of any number of keys, one launch for each column of the sorting network.
//
// Teaches: a host loop becomes `repeat:` and `step` in the job. This form of the network always puts the smaller key
// lower: a stage's first column compares i with its mirror image in the stage's group, the others with i + distance. So
// a key past the end would be the largest of all and never move: n need not be a power of two.

/// One column of the network. stage: 0, 1, … ; step: columns before this one, over all stages. One thread a key.
__global__ void bitonic_step(unsigned int* keys, int n, int stage, int step)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int column = step - stage * (stage + 1) / 2;  // stage s has s + 1 columns
    const int partner = column == 0 ? i ^ ((2 << stage) - 1) : i ^ (1 << (stage - column));
    if (partner <= i || partner >= n)
        return;
    const unsigned int low = keys[i];
    const unsigned int high = keys[partner];
    if (low > high) {
        keys[i] = high;
        keys[partner] = low;
    }
}
