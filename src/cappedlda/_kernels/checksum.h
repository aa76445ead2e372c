/* The checksum of a row: sum over pairs of words of (a + key) (b + key), modulo 2^64.
 *
 * This is NH, the hash of UMAC (Black and others 1999): a changed word changes the sum unless
 * the other factor of its product happens to be zero, one time in 2^32. One product serves two
 * words. tiles.c includes this, and knows the vectors of its target; additions may be in any
 * order. There is one key more than words.
 */
#ifndef CAPPEDLDA_CHECKSUM_H
#define CAPPEDLDA_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t word_at(const char *place) {
    uint32_t word;
    memcpy(&word, place, sizeof(word));
    return word;
}

#if VECTOR_BYTES > 8
typedef uint32_t word_vec __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef uint64_t product_vec __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));
enum { WORDS = VECTOR_BYTES / 4 };

static inline product_vec products_of_pairs(const char *words, const uint32_t *keys) {
    const word_vec sums = *(const word_vec *) words + *(const word_vec *) keys;
#if VECTOR_BYTES == 64
    return (product_vec) _mm512_mul_epu32((__m512i) sums, _mm512_srli_epi64((__m512i) sums, 32));
#elif VECTOR_BYTES == 32
    return (product_vec) _mm256_mul_epu32((__m256i) sums, _mm256_srli_epi64((__m256i) sums, 32));
#else
    const uint64x2_t pairs = (uint64x2_t) sums;
    return (product_vec) vmull_u32(vmovn_u64(pairs), vshrn_n_u64(pairs, 32));
#endif
}
#endif

static inline uint64_t checksum_of_words(
    const char *words, const uint32_t *keys, ptrdiff_t count
) {
    uint64_t total = 0;
    ptrdiff_t v = 0;
#if VECTOR_BYTES > 8
    product_vec products = {0};
    for (; v + WORDS <= count; v += WORDS) products += products_of_pairs(words + 4 * v, keys + v);
    for (int i = 0; i < WORDS / 2; i++) total += products[i];
#endif
    for (; v + 2 <= count; v += 2)
        total += (uint64_t) (uint32_t) (word_at(words + 4 * v) + keys[v])
                 * (uint32_t) (word_at(words + 4 * v + 4) + keys[v + 1]);
    if (v < count)
        total += (uint64_t) (uint32_t) (word_at(words + 4 * v) + keys[v]) * keys[v + 1];
    return total;
}

/* Sums of products would not tell when rows exchange numbers. */
static inline uint64_t mixed_checksum(uint64_t total, const double *weight) {
    const uint64_t mixer = 0x9E3779B97F4A7C15u; /* odd, with bits everywhere */
    if (weight != NULL) {
        uint64_t bits;
        memcpy(&bits, weight, sizeof(bits));
        total += bits * mixer;
    }
    total = (total ^ (total >> 32)) * mixer;
    return total ^ (total >> 29);
}

#endif
