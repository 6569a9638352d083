/* The symbols of a cubin; a test turns this shared object into something that looks like one. */
char probe__kernel__[16], probe__kernel___kernel_environment[48];
