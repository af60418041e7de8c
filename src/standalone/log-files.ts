/**
 * The log files of the standalone installation's parts. Bounded: each part retains its last three files, and starts a
 * new one at each start and when one has grown large.
 */
import { createWriteStream, mkdirSync, renameSync } from 'node:fs';
import type { WriteStream } from 'node:fs';
import path from 'node:path';

const KEPT_FILES = 3;
const LARGEST_BYTES = 20 * 1024 * 1024;
const KEPT_LINES = 20;

/** The log of one part. */
export class LogFile {
  readonly path: string;
  #stream: WriteStream;
  #bytes = 0;
  #lastLines: string[] = [];

  constructor(directory: string, name: string) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.path = path.join(directory, `${name}.log`);
    this.#stream = this.#open();
  }

  /** The last lines written, for a message about why a part died. */
  get lastLines(): readonly string[] {
    return this.#lastLines;
  }

  write(line: string): void {
    this.#lastLines = [...this.#lastLines, line].slice(-KEPT_LINES);
    if (this.#bytes > LARGEST_BYTES) {
      this.#stream.end();
      this.#stream = this.#open();
    }
    this.#bytes += Buffer.byteLength(line) + 1;
    this.#stream.write(`${line}\n`);
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#stream.once('error', () => resolve());
      this.#stream.end(resolve);
    });
  }

  #open(): WriteStream {
    for (let age = KEPT_FILES - 1; age > 0; age -= 1) {
      const younger = age === 1 ? this.path : `${this.path}.${age - 1}`;
      try {
        renameSync(younger, `${this.path}.${age}`);
      } catch {
        // There are not that many yet.
      }
    }
    this.#bytes = 0;
    const stream = createWriteStream(this.path, { flags: 'a', mode: 0o600 });
    // A full disk must not stop what still works; the part that needs the disk will report it.
    stream.on('error', () => undefined);
    return stream;
  }
}
