/* The checksum of a row: sum over pairs of words of (a + key) (b + key), modulo 2^64.
 *
 * This is NH, the hash of UMAC (Black and others 1999): a changed word changes the sum unless
 * the other factor of its product happens to be zero, one time in 2^32. One product serves two
 * words. Every x86-64 has SSE2, so that no target is needed; additions may be in any order, so
 * that all processors agree. Keys must be as many as the words, rounded up to an even number.
 */
#ifndef CAPPEDLDA_CHECKSUM_H
#define CAPPEDLDA_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>

/* Products of the two pairs in a vector of four words. */
static inline __m128i products_of_pairs(const uint32_t *words, const uint32_t *keys) {
    const __m128i sums = _mm_add_epi32(_mm_loadu_si128((const __m128i *) words),
                                       _mm_loadu_si128((const __m128i *) keys));
    return _mm_mul_epu32(sums, _mm_srli_epi64(sums, 32));
}
#endif

static inline uint64_t checksum_of_words(
    const uint32_t *words, const uint32_t *keys, ptrdiff_t count
) {
    uint64_t total = 0;
    ptrdiff_t v = 0;
#ifdef __SSE2__
    __m128i even = _mm_setzero_si128(), odd = even;
    for (; v + 8 <= count; v += 8) {
        even = _mm_add_epi64(even, products_of_pairs(words + v, keys + v));
        odd = _mm_add_epi64(odd, products_of_pairs(words + v + 4, keys + v + 4));
    }
    uint64_t lanes[2];
    _mm_storeu_si128((__m128i *) lanes, _mm_add_epi64(even, odd));
    total = lanes[0] + lanes[1];
#endif
    for (; v + 2 <= count; v += 2)
        total += (uint64_t) (uint32_t) (words[v] + keys[v])
                 * (uint32_t) (words[v + 1] + keys[v + 1]);
    if (v < count) total += (uint64_t) (uint32_t) (words[v] + keys[v]) * keys[v + 1];
    return total;
}

#endif
