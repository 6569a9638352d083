#include "rex_nvidia.h"
