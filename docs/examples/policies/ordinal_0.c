/* The first node of the set founds the cluster, whatever is on its disk: cc -o ordinal_0 ordinal_0.c
   A program that decides this way needs no JSON: the first name of "nodes" is enough. */

#include <stdio.h>
#include <string.h>

int main(void) {
    static char line[1 << 20];
    while (fgets(line, sizeof line, stdin)) {
        char name[256] = "", host[300];
        char *nodes = strstr(line, "\"nodes\":[");
        if (!strstr(line, "\"ask\":\"choose-founder\"")) {
            puts("null"); /* this program does not know the question */
        } else if (nodes && sscanf(nodes, "\"nodes\":[\"%255[^\"]", name) == 1) {
            snprintf(host, sizeof host, "\"host\":\"%s\"", name);
            printf("\"%s\"\n", strstr(line, host) ? name : "wait");
        } else {
            puts("\"wait\"");
        }
        fflush(stdout);
    }
    return 0;
}
