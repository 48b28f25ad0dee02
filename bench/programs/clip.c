/*
 * clip.c - a film for an encoder: clip WIDTH HEIGHT FRAMES >FILE.y4m
 *
 * Something of each that encoders look for: a gradient that moves slowly, boxes
 * that move in other directions, texture, and a little noise.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned noise(void)
{
	static uint32_t x = 1;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return x & 3;
}

static int is_in_box(int x, int y, int frame, int box, int width, int height)
{
	int size = 16 + 8 * box;
	int left = (frame * (box + 1) + 40 * box) % width;
	int top = (frame * (3 - box % 3) + 25 * box) % height;

	return x >= left && x < left + size && y >= top && y < top + size;
}

static unsigned char luma(int x, int y, int frame, int width, int height)
{
	int v = 40 + (x + frame / 2) * 100 / width + y * 60 / height;

	v += ((x ^ y) & 7) * 2;
	for (int box = 0; box < 4; box++)
		if (is_in_box(x, y, frame, box, width, height))
			v = 60 + 45 * box + ((x * 7 + y * 3) & 15);
	return (unsigned char)(v + (int)noise());
}

static unsigned char chroma(int x, int y, int frame, int plane)
{
	return (unsigned char)(128 + ((x * (plane + 1) + y + frame) & 31) - 16);
}

int main(int argc, char **argv)
{
	int width = argc > 3 ? atoi(argv[1]) : 0, height = argc > 3 ? atoi(argv[2]) : 0;
	int frames = argc > 3 ? atoi(argv[3]) : 0;

	if (width < 16 || height < 16 || width % 2 || height % 2 || frames < 1) {
		fprintf(stderr, "usage: clip WIDTH HEIGHT FRAMES, even\n");
		return 2;
	}
	printf("YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C420jpeg\n", width, height);
	for (int f = 0; f < frames; f++) {
		printf("FRAME\n");
		for (int i = 0; i < width * height; i++)
			putchar(luma(i % width, i / width, f, width, height));
		for (int i = 0; i < width * height / 2; i++)
			putchar(chroma(i % (width / 2), i / (width / 2), f,
				       i >= width * height / 4));
	}
	return ferror(stdout) != 0;
}
