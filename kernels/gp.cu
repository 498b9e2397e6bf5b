// $Revision: 1.0 $
// A genetic-programming interpreter: evaluates a population of Boolean programs on every input of a multiplexer.
//
// Teaches: an interpreter on a GPU: one program a block, so all its threads take the same branch; 32 fitness cases in the
// bits of one word ("sub-machine-code" GP, Poli and Langdon 1999), so an AND evaluates 32 of them; a stack in local
// memory; a status buffer for errors of the data, which the job's `status:` turns into a fault.
//
// A program is bytes in postfix order: 0 … inputs - 1 push an input; AND, OR, NAND, NOR take two and push one; END stops.

enum Opcode : unsigned char { AND = 0xf0, OR = 0xf1, NAND = 0xf2, NOR = 0xf3, END = 0xff };
enum Error { NONE = 0, STACK_UNDERFLOW = 1, STACK_OVERFLOW = 2, UNKNOWN_OPCODE = 3, NOT_ONE_RESULT = 4 };

constexpr int STACK = 32;

/// 32 fitness cases of input `bit` at once: bit k of the result is bit `bit` of the number 32 * word + k.
__device__ unsigned int input_word(int bit, int word)
{
    constexpr unsigned int low_bits[5] = {0xaaaaaaaau, 0xccccccccu, 0xf0f0f0f0u, 0xff00ff00u, 0xffff0000u};
    if (bit < 5)
        return low_bits[bit];
    return (word >> (bit - 5)) & 1 ? 0xffffffffu : 0u;
}

/// The multiplexer's 32 answers: the data input that the address inputs (the lowest ones) choose.
__device__ unsigned int target_word(int address_bits, int word)
{
    unsigned int answer = 0;
    for (int data = 0; data < (1 << address_bits); ++data) {
        unsigned int chosen = input_word(address_bits + data, word);
        for (int bit = 0; bit < address_bits; ++bit)
            chosen &= (data >> bit) & 1 ? input_word(bit, word) : ~input_word(bit, word);
        answer |= chosen;
    }
    return answer;
}

/// Runs one program on 32 fitness cases.
__device__ Error evaluate(unsigned int* result, const unsigned char* program, int length, int inputs, int word)
{
    unsigned int stack[STACK];
    int depth = 0;
    for (int at = 0; at < length && program[at] != END; ++at) {
        const unsigned char opcode = program[at];
        if (opcode < inputs) {
            if (depth == STACK)
                return STACK_OVERFLOW;
            stack[depth++] = input_word(opcode, word);
            continue;
        }
        if (depth < 2)
            return STACK_UNDERFLOW;
        const unsigned int b = stack[--depth];
        const unsigned int a = stack[--depth];
        switch (opcode) {
            case AND: stack[depth++] = a & b; break;
            case OR: stack[depth++] = a | b; break;
            case NAND: stack[depth++] = ~(a & b); break;
            case NOR: stack[depth++] = ~(a | b); break;
            default: return UNKNOWN_OPCODE;
        }
    }
    if (depth != 1)
        return NOT_ONE_RESULT;
    *result = stack[0];
    return NONE;
}

/// fitness[p] = the percentage of the 2^inputs cases that program p answers rightly; hits[p] = their number.
/// One block a program, any number of threads. status[p] = an Error.
__global__ void gp_fitness(float* fitness, int* hits, int* status, const unsigned char* programs, int length,
                           int address_bits)
{
    __shared__ int block_hits;
    if (threadIdx.x == 0)
        block_hits = 0;
    __syncthreads();

    const int inputs = address_bits + (1 << address_bits);
    const int words = 1 << (inputs - 5);
    int own_hits = 0;
    for (int word = threadIdx.x; word < words; word += blockDim.x) {
        unsigned int answer = 0;
        const Error error = evaluate(&answer, programs + blockIdx.x * length, length, inputs, word);
        if (error != NONE) {
            status[blockIdx.x] = error;  // every thread of the block would write the same
            break;
        }
        own_hits += __popc(~(answer ^ target_word(address_bits, word)));
    }
    atomicAdd(&block_hits, own_hits);
    __syncthreads();
    if (threadIdx.x == 0) {
        hits[blockIdx.x] = block_hits;
        fitness[blockIdx.x] = 100.0f * block_hits / (32 * words);
    }
}
