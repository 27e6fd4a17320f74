#pragma once

/// No functions to call: a program that links this module gets a heap that wipes freed memory (Heap.c).
