/** One recorder and one process of an official client for all tests of a file, and what they have in common. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, beforeEach } from 'node:test';
import { withRecorder } from '../providers/http/recorder.ts';
import type { Answers, Recorded } from '../providers/http/recorder.ts';
import { withClient } from './client.ts';
import type { OfficialClient } from './client.ts';

export interface Bench {
  /** Of the recorder. */
  readonly origin: string;
  readonly client: OfficialClient;
  /** Determines the answers from now on. */
  answer(answers: Answers): void;
  /** The requests since the last call of this function, or since the test began. */
  take(): readonly Recorded[];
}

/** An answer of a provider. */
export interface Scripted {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Absent: no body. */
  readonly json?: object;
}

/** Registers the bench for the tests of the surrounding `describe`. @param name of the client's file. */
export function createBench(name: string): Bench {
  let open: { readonly origin: string; readonly client: OfficialClient; close(): void } | undefined;
  let answers: Answers = () => ({});
  let requests: readonly Recorded[] = [];
  let taken = 0;
  let ended = Promise.resolve();
  before(async () => {
    await new Promise<void>((resolve, reject) => {
      ended = withRecorder(
        (request, response) => answers(request, response),
        async (recorder) => {
          requests = recorder.requests;
          await withClient(name, recorder.origin, async (client) => {
            await new Promise<void>((close) => {
              open = { origin: recorder.origin, client, close };
              resolve();
            });
          });
        },
      );
      ended.catch(reject);
    });
  });
  beforeEach(() => {
    taken = requests.length;
  });
  after(async () => {
    open?.close();
    await ended;
  });
  const opened = () => open ?? assert.fail('the bench is not open');
  return {
    get origin() {
      return opened().origin;
    },
    get client() {
      return opened().client;
    },
    answer(next) {
      answers = next;
    },
    take() {
      const since = requests.slice(taken);
      taken = requests.length;
      return since;
    },
  };
}

/** Sends a scripted answer. @returns what a recorder takes for an answer. */
export function send({ status = 200, headers = {}, json }: Scripted, response: ServerResponse): unknown {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (json === undefined) response.end();
  return json;
}
