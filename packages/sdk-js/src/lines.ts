/** Lines of JSON: those of a batch as a file, and those of its results as they arrive. */
import { ConnectionError } from './errors.ts';

/** Lines that are joined before they become a part of the file. */
const LINES_IN_A_PART = 1_000;

/** @returns the file. @throws whatever the source throws. */
export async function fileOfLines(lines: Iterable<unknown> | AsyncIterable<unknown>): Promise<Blob> {
  const parts: Blob[] = [];
  let pending: string[] = [];
  for await (const line of lines) {
    pending.push(`${JSON.stringify(line)}\n`);
    if (pending.length < LINES_IN_A_PART) continue;
    parts.push(new Blob(pending));
    pending = [];
  }
  return new Blob([...parts, ...pending]);
}

/** Yields the lines; leaving the loop early ends the download. @throws {ConnectionError} it broke off. */
export async function* readLines<Line>(body: ReadableStream<Uint8Array>): AsyncGenerator<Line, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  // In pieces: joining them for each would take long for a long line.
  let rest: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw new ConnectionError('the download broke off', { cause: error });
      });
      if (done) break;
      const [first = '', ...others] = decoder.decode(value, { stream: true }).split('\n');
      rest.push(first);
      for (const next of others) {
        yield* lineOf<Line>(rest.join(''));
        rest = [next];
      }
    }
    yield* lineOf<Line>(rest.join('') + decoder.decode());
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function* lineOf<Line>(text: string): Generator<Line, void> {
  if (text.trim() !== '') yield JSON.parse(text) as Line;
}
