/**
 * Untrusted bytes, kept until they are complete. They may arrive in pieces of one byte (an HTTP chunk may be that
 * small), and the overhead of a buffer is a hundred times its content: so they are copied into a few large blocks, and
 * what is held is at most twice what has arrived, and a kilobyte.
 */
const SMALLEST_BLOCK = 1_024;
const LARGEST_BLOCK = 64 * 1_024;

export class CollectedBytes {
  #blocks: Buffer<ArrayBuffer>[] = [];
  /** Bytes at the end of the last block that are not filled. */
  #free = 0;
  #length = 0;
  #heldBytes = 0;

  /** Bytes that have arrived. */
  get length(): number {
    return this.#length;
  }

  /** Bytes that all blocks take, filled or not. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  get blocks(): number {
    return this.#blocks.length;
  }

  /** Copies a piece. @returns by how many bytes `heldBytes` has grown. */
  push(piece: Uint8Array): number {
    const before = this.#heldBytes;
    const last = this.#blocks.at(-1);
    const fitting = Math.min(piece.length, this.#free);
    if (last !== undefined && fitting > 0) last.set(piece.subarray(0, fitting), last.length - this.#free);
    this.#free -= fitting;
    if (fitting < piece.length) this.#addBlock(piece.subarray(fitting));
    this.#length += piece.length;
    return this.#heldBytes - before;
  }

  /** All that has arrived, in memory of its own; nothing is held here afterwards. */
  take(): Buffer<ArrayBuffer> {
    const [first] = this.#blocks;
    // Most bodies arrive in one piece, which fills its block.
    const whole = first?.length === this.#length ? first : this.#copy();
    this.clear();
    return whole;
  }

  clear(): void {
    this.#blocks = [];
    this.#free = 0;
    this.#length = 0;
    this.#heldBytes = 0;
  }

  #copy(): Buffer<ArrayBuffer> {
    const whole = Buffer.allocUnsafeSlow(this.#length);
    let end = 0;
    for (const block of this.#blocks) end += block.copy(whole, end);
    return whole;
  }

  /** Blocks double, so that a small body takes little. */
  #addBlock(start: Uint8Array): void {
    const size = Math.max(start.length, Math.min(Math.max(this.#heldBytes, SMALLEST_BLOCK), LARGEST_BLOCK));
    const block = Buffer.allocUnsafeSlow(size);
    block.set(start);
    this.#blocks.push(block);
    this.#free = size - start.length;
    this.#heldBytes += size;
  }
}
