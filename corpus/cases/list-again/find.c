#include <dirent.h>
#include <stdio.h>
#include <string.h>

static char kept[512][32];
static int count;

static int look_in_folder(const char *name) {
    DIR *folder = opendir("names");
    if (!folder) return 0;
    int found = 0;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strcmp(entry->d_name, name) == 0) found = 1;
    closedir(folder);
    return found;
}

static void list_once(void) {
    DIR *folder = opendir("names");
    for (struct dirent *entry; folder && (entry = readdir(folder)) && count < 512;)
        snprintf(kept[count++], sizeof kept[0], "%s", entry->d_name);
    if (folder) closedir(folder);
}

static int look_in_memory(const char *name) {
    int found = 0;
    for (int i = 0; i < count; i++)
        if (strcmp(kept[i], name) == 0) found = 1;
    return found;
}

int main(int argc, char **argv) {
    int once = argc > 1 && strcmp(argv[1], "once") == 0, found = 0;
    if (once) list_once();
    for (int i = 0; i < 3000; i++) {
        char name[32];
        snprintf(name, sizeof name, "entry-%d", i % 500);
        found += once ? look_in_memory(name) : look_in_folder(name);
    }
    printf("%d\n", found);
    return 0;
}
