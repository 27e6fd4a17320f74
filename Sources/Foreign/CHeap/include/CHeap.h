#pragma once

/// Nothing is called: whoever links this has a heap that wipes what it frees (Heap.c).
