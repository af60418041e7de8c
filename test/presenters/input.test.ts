/** An input in a response to its owner: references as URLs, everything else as it was sent (contract §4). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createUrlSigner } from '../../src/objects/urls/signed-url.ts';
import { presentInput } from '../../src/presenters/input.ts';

const signer = createUrlSigner({
  publicUrl: 'https://example.com',
  signingKey: 'a signing key of at least 32 characters',
  lifetimeSeconds: 1800,
});
const FILE = 'file_01J00000000000000000000000';
const OUTPUT = 'out_01J00000000000000000000000';

describe('a presented input', () => {
  it('has a URL for every reference, however deep it is nested', () => {
    const input = { a: `darkroom:${FILE}`, b: [{ c: [`darkroom:${OUTPUT}`] }] };
    const shown = presentInput(input, signer, (id) => `${id}.png`) as { a: string; b: [{ c: [string] }] };

    for (const [url, id] of [
      [shown.a, FILE],
      [shown.b[0].c[0], OUTPUT],
    ] as const) {
      const [, , token = '', name] = new URL(url).pathname.split('/');
      assert.equal(signer.verify(token).outputId, id);
      assert.equal(name, `${id}.png`);
    }
  });

  it('is unchanged otherwise', () => {
    const text = `{"n":1.5,"no":null,"yes":true,"__proto__":{"x":["darkroom:file_1"]},"prompt":"darkroom:${FILE} "}`;
    const input = JSON.parse(text) as Record<string, unknown>;
    assert.equal(JSON.stringify(presentInput(input, signer)), text);
    assert.equal(JSON.stringify(input), text);
  });
});
