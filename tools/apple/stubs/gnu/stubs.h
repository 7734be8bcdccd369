// Stands in for glibc's list of functions that a machine lacks.
#pragma once
