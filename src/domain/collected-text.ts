/**
 * An untrusted text that arrives in pieces, buffered until it is complete. Adding one to the other makes an object for
 * each of them, of thirty bytes for one character: so they are joined by the thousand.
 */
const JOINED_TOGETHER = 1_024;

export class CollectedText {
  #joined: string[] = [];
  #pieces: string[] = [];
  #length = 0;

  /** Characters that have arrived. */
  get length(): number {
    return this.#length;
  }

  /** Texts that are held. */
  get parts(): number {
    return this.#joined.length + this.#pieces.length;
  }

  push(piece: string): void {
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#pieces.length < JOINED_TOGETHER) return;
    this.#joined.push(this.#pieces.join(''));
    this.#pieces = [];
  }

  /** All that has arrived; nothing is held here afterwards. */
  take(): string {
    const whole = [...this.#joined, ...this.#pieces].join('');
    this.#joined = [];
    this.#pieces = [];
    this.#length = 0;
    return whole;
  }
}
