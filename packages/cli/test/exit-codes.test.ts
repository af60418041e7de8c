/** The exit code for every kind of error of the service. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { ApiError, UnreachableError } from '@darkroom/api/client/api-client';
import { ERROR_KINDS, factsOf } from '@darkroom/api/facts/error-kinds';
import type { ErrorCategory, ErrorKind } from '@darkroom/api/facts/error-kinds';
import { EXIT_CODES_HELP, InterruptedError, NotDoneError, UsageError, exitCodeOf } from '../src/errors.ts';

const CODES: Readonly<Record<ErrorCategory, number>> = { request: 2, access: 3, balance: 4, service: 5 };

describe('the exit code', () => {
  for (const kind of Object.keys(ERROR_KINDS) as readonly ErrorKind[]) {
    it(`of a response of the kind ${kind} is that of its category`, () => {
      const { status, errorCode, category, message } = factsOf(kind);

      assert.equal(exitCodeOf(new ApiError(new Response(null, { status }), message, errorCode)), CODES[category]);
    });
  }

  it('of a response from a proxy follows from its status', () => {
    const codes = [401, 403, 404, 418, 429, 502].map((status) =>
      exitCodeOf(new ApiError(new Response(null, { status }), 'HTTP', '')),
    );

    assert.deepEqual(codes, [3, 3, 2, 2, 5, 5]);
  });

  it('is listed with its statuses, in the help as on the page of the package', async () => {
    const page = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
    const ofPage = page.matchAll(/^\| (\d+) .*\(([\dx, ]+)\)/gm);
    const ofHelp = EXIT_CODES_HELP.matchAll(/^ +(\d+) .*\(([\dx, ]+)\)/gm);
    const listed = Array.from(ofHelp, ([, code, statuses]) => [code, statuses]);

    assert.deepEqual(
      Array.from(ofPage, ([, code, statuses]) => [code, statuses]),
      listed,
    );
    assert.equal(listed.length, 4);
  });

  it('of any other error has its own value', () => {
    const errors = [new UsageError('x'), new NotDoneError('x'), new UnreachableError('x'), new InterruptedError(), 'x'];

    assert.deepEqual(errors.map(exitCodeOf), [2, 1, 5, 130, 1]);
  });
});
