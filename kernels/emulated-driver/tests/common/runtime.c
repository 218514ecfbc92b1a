/* What CUDA's runtime does first: it asks for the driver's functions by their names. */
#include <stddef.h>

int cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags,
                        void *found);

int main(void)
{
    void *function = NULL;
    int first = cuGetProcAddress_v2("cuInit", &function, 12040, 0, NULL);
    int second = cuGetProcAddress_v2("cuMemAlloc", &function, 12040, 0, NULL);
    return first == 801 && second == 801 ? 0 : 1; /* not supported */
}
