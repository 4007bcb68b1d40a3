/* A library: a function that others may call, and one that is its own. Stripped, only the first has a name. */
#include <stdint.h>

volatile uint64_t plugin_sink;

__attribute__((noinline, noclone)) static void hidden_work(long turns)
{
    for (long i = 0; i < turns; i++)
        plugin_sink += plugin_sink ^ (uint64_t)i;
}

__attribute__((noinline)) int exported_work(long turns)
{
    hidden_work(turns);
    for (long i = 0; i < turns; i++)
        plugin_sink += (uint64_t)i;
    return plugin_sink == 1;
}
