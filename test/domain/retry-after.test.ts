/** `Retry-After`, as providers and receivers of callbacks send it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseRetryAfterMs } from '../../src/domain/waits.ts';

const TEN_MINUTES_MS = 600_000;
const NOW = Date.UTC(2026, 10, 21, 12, 0, 0);

describe('Retry-After', () => {
  it('is read as seconds and as a date, never below 0 and never above its bound', () => {
    const cases: readonly (readonly [string, number])[] = [
      ['7', 7_000],
      ['0', 0],
      [' 1.5 ', 1_500],
      ['86400', 600_000],
      ['Sat, 21 Nov 2026 12:00:30 GMT', 30_000],
      ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
      ['Sun, 22 Nov 2026 12:00:00 GMT', 600_000],
    ];
    for (const [header, waitMs] of cases) assert.equal(parseRetryAfterMs(header, NOW, TEN_MINUTES_MS), waitMs, header);
  });

  it('is nothing where it is absent or cannot be read', () => {
    for (const header of [undefined, '', 'soon', []])
      assert.equal(parseRetryAfterMs(header, NOW, TEN_MINUTES_MS), undefined);
  });
});
