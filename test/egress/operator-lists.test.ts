import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseAllowList, parseDenyList } from '../../src/egress/operator-lists.ts';
import { checkUrl } from '../../src/egress/policy.ts';
import { watchConnects } from './connects.ts';
import { egressOf, failsWith, message } from './loopback.ts';

describe('EGRESS_DENY', () => {
  it('is read as addresses, CIDRs and names', () => {
    const { entries } = parseDenyList([
      ' 9.9.9.0/24 ',
      '',
      '8.8.4.4',
      '[2600::]',
      '2600:1::/32',
      'Internal.Example.com.',
    ]);

    assert.deepEqual(
      entries.map((entry) =>
        entry.kind === 'name' ? entry.name : `${entry.network.toString()}/${entry.prefixLength}`,
      ),
      ['9.9.9.0/24', '8.8.4.4/32', '2600::/128', '2600:1::/32', 'internal.example.com'],
    );
  });

  const BROKEN: readonly (readonly [string, RegExp])[] = [
    ['https://a.example', /EGRESS_DENY: "https:\/\/a\.example": want an address, a CIDR or a name/],
    ['9.9.9.9:443', /want an address, a CIDR or a name, without scheme and port/],
    ['*.example.com', /want an address, a CIDR or a name/],
    ['9.9.9.9/24', /the network of that prefix is 9\.9\.9\.0\/24/],
    ['9.9.9.0/33', /the CIDR is malformed/],
    ['9.9.9.0/', /the CIDR is malformed/],
    ['9.9.9.0/8/8', /the CIDR is malformed/],
  ];
  for (const [entry, problem] of BROKEN) {
    it(`rejects ${entry}`, () => {
      assert.throws(() => parseDenyList([entry]), problem);
    });
  }

  it('is applied when a URL is accepted, and overrides EGRESS_ALLOW', () => {
    const policy = {
      allow: parseAllowList(['9.9.9.9:443', 'a.internal.example.com:443']),
      deny: parseDenyList(['9.9.9.0/24', 'internal.example.com']),
      ports: [443],
    };
    for (const host of [
      '9.9.9.9',
      '0x09090909',
      'internal.example.com',
      'a.internal.example.com',
      'INTERNAL.example.com.',
    ]) {
      assert.deepEqual(checkUrl(`https://${host}/`, policy), {
        ok: false,
        problem: 'the operator denies this address with EGRESS_DENY',
      });
    }
    for (const host of ['9.9.8.9', 'example.com', 'notinternal.example.com']) {
      assert.ok(checkUrl(`https://${host}/`, policy).ok, host);
    }
  });

  it('is applied again when a name is resolved, and logged at start', async (t) => {
    const tried = watchConnects(t);
    const { egress, logged } = egressOf(t, [], {
      deny: parseDenyList(['9.9.9.0/24']),
      resolve: async () => ['8.8.8.8', '9.9.9.9'],
    });

    await failsWith('unreachable', egress.post('https://harmless.test/', message()));

    assert.deepEqual(tried, []);
    assert.deepEqual(logged()[0]?.['entries'], ['9.9.9.0/24']);
    assert.equal(logged().at(-1)?.['address'], '9.9.9.9');
  });
});
