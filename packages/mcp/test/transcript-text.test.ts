/** A transcript in an answer: a language model reads the words, whatever files a task has. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createApiClient } from '@darkroom/api/client/api-client';
import type { WireTask } from '@darkroom/api/tasks/task';
import { taskAnswer } from '../src/task-answer.ts';
import { BASE_URL, doneTask } from './done-task.ts';

const TEXT = 'Mind the gap.\n';

/** A task with a file of each of these types. */
function taskOf(mimeTypes: readonly string[], sizeBytes = TEXT.length): WireTask {
  return doneTask(
    mimeTypes.map((mimeType) => ({
      type: 'text',
      url: `${BASE_URL}/files/${encodeURIComponent(mimeType)}`,
      mimeType,
      sizeBytes,
    })),
  );
}

/** @returns the texts of the answer after the JSON, and the types that were fetched. */
async function readTexts(task: WireTask, respond: () => Response = () => new Response(TEXT)) {
  const fetched: string[] = [];
  const api = createApiClient({
    baseUrl: BASE_URL,
    fetch: (async (url: string) => {
      fetched.push(decodeURIComponent(url.split('/').at(-1) ?? ''));
      return respond();
    }) as typeof globalThis.fetch,
  });
  const { signal } = new AbortController();
  const options = { api, signal, late: signal, mayWait: () => true, media: 'none', takesLinks: true } as const;
  const { content } = await taskAnswer(task, options);
  const [, ...texts] = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  return { texts, fetched, links: content.filter((block) => block.type === 'resource_link').length };
}

describe('a transcript in an answer', () => {
  it('is the plain text, and the other files are links', async () => {
    assert.deepEqual(await readTexts(taskOf(['text/vtt', 'application/json', 'text/plain'])), {
      texts: [TEXT],
      fetched: ['text/plain'],
      links: 3,
    });
  });

  it('is another file where there is no plain text', async () => {
    const { texts, fetched } = await readTexts(taskOf(['text/vtt', 'application/x-subrip']));
    assert.deepEqual({ texts, fetched }, { texts: [TEXT], fetched: ['application/x-subrip'] });
  });

  it('is only a link if it is too long, cannot be fetched, or is longer than stated', async () => {
    const long = await readTexts(taskOf(['text/plain'], 100_001));
    assert.deepEqual(long, { texts: [], fetched: [], links: 1 });
    const gone = await readTexts(taskOf(['text/plain']), () => Response.json({ message: 'gone' }, { status: 404 }));
    assert.deepEqual([gone.texts, gone.links], [[], 1]);
    const other = await readTexts(taskOf(['text/plain']), () => new Response(`${TEXT}${TEXT}`));
    assert.deepEqual([other.texts, other.links], [[], 1]);
  });
});
