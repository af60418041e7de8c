/** Small ways to break a file, drawn from a seed, as a fuzzer of containers applies them. */
import type { Random } from '@darkroom/testing/random';

/** Values that length and count fields are overwritten with. */
const WORDS = [0, 1, 7, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe];
/** Larger ones would only be slow to copy. */
const LONGEST = 4 * 1024 * 1024;

type Mutation = (bytes: Buffer, random: Random) => Buffer;

const at = (bytes: Buffer, random: Random): number => random.between(0, Math.max(0, bytes.length - 1));

const MUTATIONS: readonly Mutation[] = [
  function flipBit(bytes, random) {
    const index = at(bytes, random);
    bytes[index] = (bytes[index] ?? 0) ^ (1 << random.between(0, 7));
    return bytes;
  },
  function overwriteByte(bytes, random) {
    bytes[at(bytes, random)] = random.between(0, 255);
    return bytes;
  },
  function overwriteWord(bytes, random) {
    const index = at(bytes, random);
    if (index + 4 <= bytes.length) bytes.writeUInt32BE(random.pick(WORDS), index);
    return bytes;
  },
  function overwriteLong(bytes, random) {
    const index = at(bytes, random);
    if (index + 8 <= bytes.length) bytes.writeBigUInt64BE(random.pick([0n, 1n, 1n << 32n, (1n << 63n) - 1n]), index);
    return bytes;
  },
  function truncate(bytes, random) {
    return bytes.subarray(0, at(bytes, random));
  },
  function remove(bytes, random) {
    const index = at(bytes, random);
    return Buffer.concat([bytes.subarray(0, index), bytes.subarray(index + random.between(1, 64))]);
  },
  function repeat(bytes, random) {
    const [start, length] = [at(bytes, random), random.between(1, 512)];
    const piece = bytes.subarray(start, start + length);
    const times = random.isWithChance(0.1) ? random.between(100, 20_000) : random.between(1, 20);
    const kept = Math.min(times, Math.floor(LONGEST / Math.max(1, piece.length)));
    return Buffer.concat([bytes.subarray(0, start), Buffer.alloc(piece.length * kept, piece), bytes.subarray(start)]);
  },
  function move(bytes, random) {
    const [from, to] = [at(bytes, random), at(bytes, random)];
    const piece = Buffer.from(bytes.subarray(from, from + random.between(1, 256)));
    return Buffer.concat([bytes.subarray(0, to), piece, bytes.subarray(to)]);
  },
];

/** A copy with one to eight mutations, most of them where the tables usually are: at the beginning and at the end. */
export function mutated(sample: Buffer, random: Random): Buffer {
  let bytes: Buffer = Buffer.from(sample);
  for (let count = random.between(1, 8); count > 0 && bytes.length > 0; count--) {
    bytes = random.pick(MUTATIONS)(bytes, random).subarray(0, LONGEST);
  }
  return Buffer.from(bytes);
}
