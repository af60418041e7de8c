/**
 * ESRGAN Slim of UpscalerJS on the processor. An image is enlarged tile by tile, so that memory does not grow with it,
 * and the work can be given up between two tiles.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import sharp from 'sharp';

// Both must be the same instance, which only their CommonJS builds have in common.
const require = createRequire(import.meta.url);
const tf = require('@tensorflow/tfjs');
require('@tensorflow/tfjs-backend-wasm');

export const SCALES = [2, 3, 4];
/** Of the image to enlarge: a megapixel takes half a minute or so. */
export const MAX_PIXELS = 1024 * 1024;
const TILE = 128;
/** A pixel depends on no other that is farther away: with less, the borders of the tiles show. */
const OVERLAP = 12;

/** What is wrong with the image that was sent. */
export class ImageError extends Error {
  name = 'ImageError';
}

/** @returns a function that enlarges an image file; see `upscale`. */
export async function createUpscaler() {
  await tf.setBackend('wasm');
  await tf.ready();
  const models = new Map();
  for (const scale of SCALES) models.set(scale, await loadModel(scale));
  return (file, scale, signal) => upscale(models.get(scale), file, scale, signal);
}

async function loadModel(scale) {
  // The package exports no path to its models. Its entry is dist/cjs/models/esrgan-slim/src/cjs.js.
  const root = path.join(path.dirname(require.resolve('@upscalerjs/esrgan-slim')), '../../../../..');
  const directory = path.join(root, 'models', `x${scale}`);
  const { modelTopology, weightsManifest } = JSON.parse(await readFile(path.join(directory, 'model.json'), 'utf8'));
  const shards = await Promise.all(
    weightsManifest.flatMap(({ paths }) => paths.map((name) => readFile(path.join(directory, name)))),
  );
  const weightSpecs = weightsManifest.flatMap(({ weights }) => weights);
  const weightData = new Uint8Array(Buffer.concat(shards)).buffer;
  return tf.loadLayersModel(tf.io.fromMemory({ modelTopology, weightSpecs, weightData }));
}

/**
 * @param file PNG, JPEG, WebP, GIF or AVIF; of an animation the first frame.
 * @returns a PNG.
 * @throws {ImageError}
 * @throws the reason of the signal.
 */
async function upscale(model, file, scale, signal) {
  const { rgba, width, height } = await decode(file);
  const outSize = { width: width * scale, height: height * scale };
  const out = Buffer.alloc(outSize.width * outSize.height * 4);
  const input = await toTensor(rgba, width, height);
  try {
    for (let top = 0; top < height; top += TILE) {
      for (let left = 0; left < width; left += TILE) {
        await setImmediate();
        signal.throwIfAborted();
        const size = { width: Math.min(TILE, width - left), height: Math.min(TILE, height - top) };
        const tile = enlargeTile(model, input, { top, left, ...size }, scale);
        copyTile(await tile.data(), { top: top * scale, left: left * scale, width: size.width * scale }, out, outSize);
        tile.dispose();
      }
    }
  } finally {
    input.dispose();
  }
  await copyAlpha(rgba, { width, height }, out, outSize);
  return sharp(out, { raw: { ...outSize, channels: 4 } })
    .png()
    .toBuffer();
}

/** The colours, with a margin: the network takes what is outside for black, which darkens the edges. */
async function toTensor(rgba, width, height) {
  const margin = { top: OVERLAP, bottom: OVERLAP, left: OVERLAP, right: OVERLAP };
  const { data, info } = await sharp(rgba, { raw: { width, height, channels: 4 } })
    .removeAlpha()
    .extend({ ...margin, extendWith: 'copy' })
    .raw()
    .toBuffer({ resolveWithObject: true });
  return tf.tensor3d(new Float32Array(data), [info.height, info.width, 3]);
}

/** One tile, from more of the image than it shows. */
function enlargeTile(model, input, { top, left, width, height }, scale) {
  return tf.tidy(() =>
    model
      .predict(input.slice([top, left, 0], [height + 2 * OVERLAP, width + 2 * OVERLAP, 3]).expandDims())
      .squeeze([0])
      .slice([OVERLAP * scale, OVERLAP * scale, 0], [height * scale, width * scale, 3])
      .round()
      .clipByValue(0, 255),
  );
}

async function decode(file) {
  try {
    const { data, info } = await sharp(file, { limitInputPixels: MAX_PIXELS })
      .autoOrient()
      .toColourspace('srgb')
      .ensureAlpha()
      .raw()
      .toBuffer({ resolveWithObject: true });
    return { rgba: data, width: info.width, height: info.height };
  } catch (error) {
    if (/pixel limit/i.test(error.message)) {
      throw new ImageError(`the image has more than ${MAX_PIXELS} pixels`, { cause: error });
    }
    throw new ImageError('the file is no image that can be read', { cause: error });
  }
}

function copyTile(rgb, { top, left, width }, out, outSize) {
  for (let index = 0; index < rgb.length / 3; index++) {
    const row = top + Math.floor(index / width);
    const column = left + (index % width);
    out.set(rgb.subarray(index * 3, index * 3 + 3), (row * outSize.width + column) * 4);
  }
}

/** The network knows colours only. */
async function copyAlpha(rgba, size, out, outSize) {
  const alpha = Buffer.alloc(size.width * size.height);
  for (let index = 0; index < alpha.length; index++) alpha[index] = rgba[index * 4 + 3];
  const enlarged = await sharp(alpha, { raw: { ...size, channels: 1 } })
    .resize(outSize.width, outSize.height)
    .toColourspace('b-w')
    .raw()
    .toBuffer();
  for (let index = 0; index < enlarged.length; index++) out[index * 4 + 3] = enlarged[index];
}
