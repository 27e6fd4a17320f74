#define _GNU_SOURCE
#include "CPlatform.h"

int lanyard_spawn_closes_others(posix_spawn_file_actions_t *actions) {
  return -posix_spawn_file_actions_addclosefrom_np(actions, 3);
}
