/**
 * Responses that no provider should give, to the job API of a model file: what becomes of the work, and what the log
 * says about it. It names the upstream, the member of the file, what was expected and what was found, and nothing of
 * what the provider wrote.
 */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { HttpBinding } from '../../../src/providers/http/binding.ts';
import { createLogLines } from '../log-lines.ts';
import type { LogLine } from '../log-lines.ts';
import { submitCall } from '../submit-call.ts';
import { JOBS, bind, withRecorder } from './recorder.ts';
import type { Answers } from './recorder.ts';

const call = submitCall();
const KEY = 'key-that-must-stay-secret';
/** Part of every response that could be quoted. */
const MARK = 'words of a stranger';
const PRIVATE = 'http://169.254.169.254/latest/meta-data';

type Outcome = Readonly<Record<string, unknown>>;

/** What a submit or a poll comes to, and the lines that it leaves. */
async function outcomeOf(
  work: 'submit' | 'poll',
  answers: Answers,
  http: HttpBinding = JOBS,
  secret = KEY,
): Promise<{ readonly outcome: Outcome; readonly lines: readonly LogLine[]; readonly requests: number }> {
  const { logger, lines } = createLogLines();
  let outcome: Outcome = {};
  let sent = 0;
  await withRecorder(answers, async ({ origin, requests }) => {
    const { provider, request } = bind(http, { origin, secret, logger });
    const working = work === 'submit' ? provider.submit(request, call) : provider.poll(request, 'job-1', call);
    outcome = await working.then(
      (result) => ({ ...result }),
      ({ name, reason, code, status, message }: Record<string, unknown>) => {
        assert.doesNotMatch(String(message), new RegExp(`${MARK}|${KEY}`));
        return { name, reason, code, status };
      },
    );
    sent = requests.length;
  });
  assert.doesNotMatch(JSON.stringify(lines), new RegExp(`${MARK}|${KEY}|a boat`));
  for (const line of lines) assert.equal(line['upstream'], 'acme');
  return { outcome, lines, requests: sent };
}

/** A line that has these fields. */
function assertLogged(lines: readonly LogLine[], fields: LogLine, about: string): void {
  const isThere = lines.some((line) =>
    Object.entries(fields).every(([name, value]) => JSON.stringify(line[name]) === JSON.stringify(value)),
  );
  assert.ok(isThere, `${about}: ${JSON.stringify(fields)} is not in ${JSON.stringify(lines)}`);
}

const sending =
  (status: number, body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Answers =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
    return undefined;
  };

/** Sends a beginning and then the same piece for as long as someone reads. */
const endless =
  (status: number, piece: string): Answers =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).write(`{"text":"${MARK}`);
    const more = (): void => {
      while (!response.destroyed) if (!response.write(piece)) return void response.once('drain', more);
    };
    more();
    return undefined;
  };

const cutOff = (_: unknown, response: ServerResponse): undefined => {
  response.writeHead(200, { 'content-length': 500 }).write('{"id":"job-1"', () => response.destroy());
  return undefined;
};

/** Bodies that cannot be read, whatever they answer, with what the log says of them. */
const UNREADABLE: readonly (readonly [string, Answers, number, LogLine])[] = [
  [
    'a page',
    sending(200, `<p>${MARK}</p>`, { 'content-type': 'text/html; charset=utf-8' }),
    200,
    { code: 'NOT_JSON', contentType: 'text/html' },
  ],
  [
    'truncated JSON',
    sending(200, `{"id":"job-1","say":"${MARK}`),
    200,
    { code: 'NOT_JSON', contentType: 'application/json' },
  ],
  ['two values', sending(200, '{"id":"job-1"}{}'), 200, { code: 'NOT_JSON' }],
  ['a number that is none', sending(200, '{"id":NaN}'), 200, { code: 'NOT_JSON' }],
  ['a body that breaks off', cutOff, 200, { msg: 'the upstream gave no clear answer' }],
  ['more than a megabyte', endless(200, 'x'.repeat(60_000)), 200, { code: 'BODY_TOO_LARGE' }],
  ['JSON of 100,000 levels', sending(200, '{"id":'.repeat(100_000)), 200, { code: 'JSON_TOO_LARGE' }],
  [
    'gzip',
    sending(200, gzipSync('{"id":"job-1"}'), { 'content-encoding': 'gzip' }),
    200,
    { code: 'ENCODED', contentEncoding: 'gzip' },
  ],
  [
    '100 MB in gzip',
    sending(200, gzipSync(Buffer.alloc(100_000_000, ' ')), { 'content-encoding': 'gzip' }),
    200,
    { code: 'ENCODED' },
  ],
  ['nothing', sending(200, ''), 200, { code: 'EMPTY' }],
  ['no content', sending(204, ''), 204, { code: 'EMPTY' }],
  [
    'a redirect',
    sending(302, MARK, { location: PRIVATE }),
    302,
    { code: 'REDIRECTED', redirectHost: '169.254.169.254' },
  ],
  ['a redirect without an address', sending(303, ''), 303, { code: 'REDIRECTED' }],
  ['a redirect to itself', sending(302, '', { location: '/v1/jobs' }), 302, { code: 'REDIRECTED' }],
  ['not modified', sending(304, ''), 304, { code: 'REDIRECTED' }],
  ['a type that is a sentence', sending(200, '-', { 'content-type': MARK }), 200, { code: 'NOT_JSON' }],
];

describe('a response that cannot be read', () => {
  for (const [name, answers, status, logged] of UNREADABLE) {
    it(`of a submit leaves its outcome unknown: ${name}`, async () => {
      const { outcome, lines, requests } = await outcomeOf('submit', answers);

      assert.deepEqual([outcome['name'], outcome['status'], requests], ['ProviderUnknown', status, 1]);
      assertLogged(lines, { ...logged, status, level: 40 }, name);
    });

    it(`of a poll changes nothing: ${name}`, async () => {
      const { outcome, lines, requests } = await outcomeOf('poll', answers);

      assert.deepEqual([outcome['name'], outcome['status'], requests], ['ProviderUnreachable', status, 1]);
      assertLogged(lines, { ...logged, status, level: 40 }, name);
    });
  }

  it('is a rejection where its status is one, and is not read to its end', async () => {
    const { outcome, lines } = await outcomeOf('submit', endless(422, 'x'.repeat(60_000)));

    assert.deepEqual([outcome['name'], outcome['reason']], ['ProviderRejection', 'input_invalid']);
    assertLogged(lines, { status: 422, code: 'BODY_TOO_LARGE' }, 'a long refusal');
  });

  it('is an address to be corrected where the method stays the same, and is not followed', async () => {
    await withRecorder(
      () => ({ id: 'job-1' }),
      async (elsewhere) => {
        for (const status of [301, 307, 308]) {
          const answers = sending(status, '', { location: `${elsewhere.origin}/v1/jobs` });
          const { outcome, lines } = await outcomeOf('submit', answers);

          assert.deepEqual([outcome['name'], outcome['reason']], ['ProviderRejection', 'model_unavailable']);
          assertLogged(lines, { status, level: 50, redirectHost: new URL(elsewhere.origin).host }, String(status));
        }
        assert.deepEqual(elsewhere.requests, []);
      },
    );
  });
});

describe('a response in an unusual form', () => {
  it('is read with a byte order mark, whatever its type is called', async () => {
    const { outcome } = await outcomeOf(
      'submit',
      sending(200, '\uFEFF{"id":"job-1"}', { 'content-type': 'text/plain' }),
    );

    assert.deepEqual(outcome, { kind: 'job', jobId: 'job-1' });
  });

  it('has the last of several members of a name, and none from a prototype', async () => {
    for (const [body, jobId] of [
      ['{"id":"../x","id":"job-2"}', 'job-2'],
      ['{"__proto__":{"id":"job-1"},"id":"job-2"}', 'job-2'],
      ['{"__proto__":{"id":"job-1"}}', undefined],
      ['{"constructor":{"prototype":{"id":"job-1"}}}', undefined],
    ] as const) {
      const { outcome } = await outcomeOf('submit', sending(200, body));

      assert.deepEqual(
        [outcome['jobId'], outcome['code']],
        [jobId, jobId === undefined ? 'NO_JOB_ID' : undefined],
        body,
      );
    }
    assert.equal(Object.hasOwn(Object.prototype, 'id'), false);
  });

  it('follows an informational one', async () => {
    const { outcome } = await outcomeOf('submit', (_, response) => {
      response.writeEarlyHints({ link: '</a>; rel=preload' });
      return { id: 'job-1' };
    });

    assert.deepEqual(outcome, { kind: 'job', jobId: 'job-1' });
  });
});

describe('the id of a job', () => {
  it('is a word or an integer, and the outcome is unknown with any other', async () => {
    const expected =
      'an integer below 2^53, or a word of at most 200 letters, digits, and _ . : - that begins with a letter or digit';
    for (const [id, found] of [
      ['"../admin"', 'a text of 8 characters'],
      ['"a/b"', 'a text of 3 characters'],
      ['".."', 'a text of 2 characters'],
      ['"a?b=c"', 'a text of 5 characters'],
      ['"a#b"', 'a text of 3 characters'],
      ['"a\\r\\nX-Header: b"', 'a text of 14 characters'],
      ['"a\\n"', 'a text of 2 characters'],
      ['"a\\u0000"', 'a text of 2 characters'],
      ['"%2e%2e"', 'a text of 6 characters'],
      ['""', 'an empty text'],
      [`"${'x'.repeat(900_000)}"`, 'a text of 900000 characters'],
      ['"http://evil.example/a"', 'a URL at http://evil.example'],
      // It would be rounded, and name the job of another account.
      ['12345678901234567890', 'the number 12345678901234567000'],
      ['1.5', 'the number 1.5'],
      ['1e400', 'null'],
      ['null', 'null'],
      ['true', 'true'],
      ['["job-1"]', 'a list of 1, which begins with a text of 5 characters'],
      ['["a","b"]', 'a list of 2, which begins with a text of 1 character'],
      ['{"id":"job-1"}', 'an object'],
    ] as const) {
      const { outcome, lines } = await outcomeOf('submit', sending(200, `{"id":${id}}`));
      assert.deepEqual([outcome['name'], outcome['code']], ['ProviderUnknown', 'NO_JOB_ID'], id.slice(0, 50));
      assertLogged(lines, { member: 'jobId', expected, found }, id.slice(0, 50));
    }
    for (const [id, jobId] of [
      ['17', '17'],
      ['"0"', '0'],
      [String(Number.MAX_SAFE_INTEGER), '9007199254740991'],
    ] as const) {
      const { outcome, lines } = await outcomeOf('submit', sending(200, `{"id":${id}}`));
      assert.deepEqual([outcome, lines], [{ kind: 'job', jobId }, []]);
    }
  });

  it('is not missed in a response that rejects the work', async () => {
    const refusing = { ...JOBS, submit: { ...JOBS.submit, refusal: "code = 7 ? 'content_rejected'" } };
    const { outcome, lines } = await outcomeOf('submit', sending(200, '{"code":7}'), refusing);
    assert.equal(outcome['reason'], 'content_rejected');
    assert.deepEqual(
      lines.map(({ member }) => member).filter((member) => member !== undefined),
      [],
    );
  });
});

describe('the state of a job', () => {
  it('is one of three, and any other is no response', async () => {
    const found = { '"teleported"': 'a text of 10 characters', '1': 'the number 1', null: 'null', '{}': 'an object' };
    for (const [state, what] of Object.entries(found)) {
      const { outcome, lines } = await outcomeOf('poll', sending(200, `{"state":${state}}`));

      assert.deepEqual([outcome['name'], outcome['code'], outcome['status']], ['ProviderUnreachable', 'NO_STATE', 200]);
      assertLogged(lines, { member: 'poll.state', expected: 'running, done or failed', found: what }, state);
    }
  });

  it('is not polled at a host that the file does not name', async () => {
    const http = { ...JOBS, poll: { ...JOBS.poll, path: "'https://eu.acme.example/jobs/' & $jobId", state: 'state' } };
    const { outcome, lines, requests } = await outcomeOf('poll', sending(200, '{"state":"running"}'), http);

    assert.deepEqual([outcome['name'], outcome['code'], requests], ['ProviderUnreachable', 'NO_PATH', 0]);
    const expected = 'a path that begins with /, or a URL on the host of baseUrl or one of hosts';
    assertLogged(lines, { member: 'poll.path', expected, found: 'a URL at https://eu.acme.example' }, 'poll.path');
  });

  it('leads to no result at another host', async () => {
    const http = { ...JOBS, result: { path: 'response_url' } };
    const answer = { state: 'done', response_url: `${PRIVATE}/${MARK.replaceAll(' ', '-')}` };
    const { outcome, lines, requests } = await outcomeOf('poll', sending(200, JSON.stringify(answer)), http);

    assert.deepEqual([outcome['code'], requests], ['NO_PATH', 1]);
    assertLogged(lines, { member: 'result.path', found: 'a URL at http://169.254.169.254' }, 'result.path');
  });

  it('has one line for each fault, however often it is polled', async () => {
    const { logger, lines } = createLogLines();
    await withRecorder(
      () => ({ state: 'running', progress: 50 }),
      async ({ origin }) => {
        const http = { ...JOBS, poll: { ...JOBS.poll, path: "'/jobs'", state: 'state', progress: 'progress' } };
        const { provider, request } = bind(http, { origin, logger });
        for (let poll = 0; poll < 5; poll++) {
          assert.deepEqual(await provider.poll(request, 'job-1', call), { kind: 'running' });
        }
      },
    );
    assert.equal(lines.length, 1);
    assertLogged(lines, { member: 'poll.progress', found: 'the number 50' }, 'progress');
  });
});

describe('the outputs of a job', () => {
  it('are none where they are no addresses, which the log says', async () => {
    for (const [files, found] of [
      [['file:///etc/passwd', MARK], 'a list of 2, which begins with a text of 18 characters'],
      ['ftp://files.example/a.png', 'a URL at ftp://files.example'],
      ['javascript:alert(1)', 'a text of 19 characters'],
      [`data:text/html,${MARK}`, 'a data URL of 34 characters'],
      ['data:image/png;base64,', 'a data URL of 22 characters'],
      ['', 'an empty text'],
      [[], 'an empty list'],
      [{ url: 'https://files.example/a.png' }, 'an object'],
      [undefined, 'nothing'],
      [null, 'null'],
    ] as const) {
      const { outcome, lines } = await outcomeOf('poll', () => ({ state: 'done', files }));

      assert.deepEqual([outcome['name'], outcome['reason']], ['ProviderFailure', 'no_output'], JSON.stringify(files));
      assertLogged(lines, { member: 'outputs', found }, JSON.stringify(files));
    }
  });

  it('are none where their expression fails, and the log has its code', async () => {
    const http = { ...JOBS, outputs: '$error("no files in " & files)' };
    const { outcome, lines } = await outcomeOf('poll', () => ({ state: 'done', files: MARK }), http);

    assert.equal(outcome['reason'], 'no_output');
    assertLogged(lines, { member: 'outputs', code: 'D3137' }, 'outputs');
  });
});

describe('a request that cannot be sent', () => {
  it('names the credential where that is the reason, and reaches no server', async () => {
    for (const secret of ['a\nb', 'a\0b', 'a\u0001', 'clé']) {
      const { outcome, lines, requests } = await outcomeOf('submit', () => ({ id: 'job-1' }), JOBS, secret);

      assert.deepEqual([outcome['name'], outcome['reason'], requests], ['ProviderRejection', 'model_unavailable', 0]);
      const [{ level, credentialName, msg } = {}] = lines;
      assert.deepEqual([level, credentialName], [50, 'main']);
      assert.match(String(msg), /^the credential has a line end, a control character or one beyond ASCII/);
    }
  });

  it('names the member where an expression of the file fails', async () => {
    const http = { ...JOBS, submit: { path: "'/jobs'", body: '$error(prompt)' } };
    const { outcome, lines, requests } = await outcomeOf('submit', () => ({ id: 'job-1' }), http);

    assert.deepEqual([outcome['reason'], requests], ['model_unavailable', 0]);
    assertLogged(lines, { member: 'submit.body', code: 'D3137' }, 'submit.body');
  });
});
