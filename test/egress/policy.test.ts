import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseAllowList } from '../../src/egress/operator-lists.ts';
import { checkUrl, mayConnect, targetOf } from '../../src/egress/policy.ts';
import type { EgressPolicy } from '../../src/egress/policy.ts';

function policyOf(...entries: string[]): EgressPolicy {
  return { allow: parseAllowList(entries), ports: [443] };
}

function problemOf(url: string, policy: EgressPolicy = policyOf()): string | undefined {
  const check = checkUrl(url, policy);
  return check.ok ? undefined : check.problem;
}

function permits(url: string, address: string, policy: EgressPolicy): boolean {
  const target = targetOf(new URL(url));
  assert.ok(target);
  return mayConnect(target, address, policy);
}

describe('parseAllowList', () => {
  it('reads names, addresses and ranges, skips blanks, and keeps what was written', () => {
    const list = parseAllowList([' receiver.internal:8443 ', '', 'http://10.0.0.0/8:80', '[fd00::/8]:443', '[::1]:9']);

    assert.deepEqual(
      list.entries.map(({ text, port, allowsHttp, host }) => [text, port, allowsHttp, host.kind]),
      [
        ['receiver.internal:8443', 8443, false, 'name'],
        ['http://10.0.0.0/8:80', 80, true, 'range'],
        ['[fd00::/8]:443', 443, false, 'range'],
        ['[::1]:9', 9, false, 'range'],
      ],
    );
  });

  const REJECTED: readonly (readonly [string, RegExp])[] = [
    ['127.0.0.1', /want host:port/],
    ['https://127.0.0.1:443', /want host:port/],
    ['fd00::1:443', /want host:port/],
    ['127.0.0.1:0', /0 is no port/],
    ['127.0.0.1:65536', /65536 is no port/],
    ['*:443', /no wildcard/],
    ['*.internal:443', /no wildcard/],
    ['0.0.0.0/0:443', /\/0 is too wide; at least \/8/],
    ['[::/0]:443', /\/0 is too wide; at least \/7/],
    ['10.0.0.5/8:443', /the network of that prefix is 10\.0\.0\.0\/8/],
    ['10.0.0.0/33:443', /\/33 is longer than the address/],
    ['10.0.0.0/x:443', /the CIDR is malformed/],
    ['10.0.0.0/8/8:443', /the CIDR is malformed/],
    ['2130706433:443', /neither a name nor an address in its usual spelling/],
    ['internal/8:443', /neither a name nor an address/],
    ['a..b:443', /neither a name nor an address/],
  ];
  for (const [entry, problem] of REJECTED) {
    it(`rejects ${entry} and names it`, () => {
      assert.throws(
        () => parseAllowList(['receiver.internal:8443', entry]),
        (error: Error) => error.message.includes(`"${entry}"`) && problem.test(error.message),
      );
    });
  }
});

describe('checkUrl', () => {
  it('accepts a public https address and name on the configured port', () => {
    const named = ['https://example.com/hook?a=1', 'HTTPS://A.test'];
    for (const url of [...named, 'https://8.8.8.8/', 'https://[2606:4700::1]:443/x']) {
      assert.equal(problemOf(url), undefined, url);
    }
  });

  // Proves C2-12.
  it('rejects a literal address that is not public, in any spelling, with the message of the contract', () => {
    const problem = '127.0.0.1 is not a public address; the operator can allow it with EGRESS_ALLOW=127.0.0.1:443';
    const inAscii = ['127.0.0.1', '127.1', '2130706433', '0x7f.1', '0177.0.0.1', '127.0.0.1.'];
    for (const host of [...inAscii, '①②⑦.0.0.1', '127。0。0。1']) {
      assert.equal(problemOf(`https://${host}/cb`), problem, host);
    }

    assert.match(problemOf('https://[::ffff:127.0.0.1]/') ?? '', /^::ffff:7f00:1 is not a public address/);
    assert.match(problemOf('https://[::1]:8443/') ?? '', /^::1 is not a public address; .* EGRESS_ALLOW=\[::1\]:8443$/);
    assert.match(problemOf('http://10.0.0.1:8080/') ?? '', /EGRESS_ALLOW=http:\/\/10\.0\.0\.1:8080$/);
    assert.match(problemOf('https://%6cocalhost/') ?? '', /^localhost is not a public address/);
    assert.match(problemOf('https://a.localhost./') ?? '', /^a\.localhost is not a public address/);
  });

  // Proves C2-13.
  it('leaves names to be validated when connecting', () => {
    assert.equal(problemOf('https://metadata.internal/'), undefined);
  });

  const REJECTED: readonly (readonly [string, RegExp])[] = [
    ['http://example.com/', /^must be https/],
    ['https://example.com:8443/', /^port 8443 is not allowed; want 443$/],
    ['https://example.com:0/', /^port 0 is not allowed/],
    ['https://user@example.com/', /user information/],
    ['https://user:secret@example.com/', /user information/],
    ['https://@example.com/', /user information/],
    ['https://example.com/#part', /fragment/],
    ['https://example.com/#', /fragment/],
    ['ftp://example.com/', /absolute https URL/],
    ['file:///etc/passwd', /absolute https URL/],
    ['//example.com/', /absolute https URL/],
    ['/hook', /absolute https URL/],
    ['https:example.com', /absolute https URL/],
    ['https:///example.com', /absolute https URL/],
    ['https://', /absolute https URL/],
    ['', /absolute https URL/],
    ['https://127.0.0.256/', /absolute https URL/],
    ['https://[fe80::1%25eth0]/', /absolute https URL/],
    [' https://example.com/', /blanks/],
    ['https://exam\tple.com/', /blanks/],
    ['https://example.com\\@evil.test/', /backslashes/],
    ['https://example.com/\u0000', /control characters/],
    ['https://example..com/', /neither a name nor an address/],
    [`https://example.com/${'a'.repeat(2029)}`, /^maxLength: got 2049, want 2048$/],
  ];
  for (const [url, problem] of REJECTED) {
    it(`rejects ${JSON.stringify(url.slice(0, 40))}`, () => assert.match(problemOf(url) ?? 'accepted', problem));
  }

  // Proves C2-10.
  it('accepts 2048 characters', () => {
    assert.equal(problemOf(`https://example.com/${'a'.repeat(2028)}`), undefined);
  });

  // Proves C2-11.
  it('accepts plain http and other ports only where an entry says so for that host and port', () => {
    const policy = policyOf('http://127.0.0.1:9000', '10.0.0.0/8:8443', 'receiver.internal:8443');

    assert.equal(problemOf('http://127.0.0.1:9000/', policy), undefined);
    assert.equal(problemOf('https://127.0.0.1:9000/', policy), undefined);
    assert.equal(problemOf('https://10.1.2.3:8443/', policy), undefined);
    assert.equal(problemOf('https://receiver.internal:8443/', policy), undefined);
    assert.match(problemOf('http://127.0.0.1:9001/', policy) ?? '', /not a public address/);
    assert.match(problemOf('http://127.0.0.2:9000/', policy) ?? '', /not a public address/);
    assert.match(problemOf('http://10.1.2.3:8443/', policy) ?? '', /not a public address/);
    assert.match(problemOf('https://10.1.2.3/', policy) ?? '', /not a public address/);
    assert.match(problemOf('http://receiver.internal:8443/', policy) ?? '', /must be https/);
    assert.match(problemOf('https://receiver.internal:8444/', policy) ?? '', /port 8444/);
  });
});

describe('mayConnect', () => {
  it('validates the address of a name that only a range could permit', () => {
    const policy = policyOf('http://10.0.0.0/8:8080');

    assert.equal(problemOf('http://receiver.internal:8080/', policy), undefined);
    assert.equal(permits('http://receiver.internal:8080/', '10.0.0.7', policy), true);
    assert.equal(permits('http://receiver.internal:8080/', '127.0.0.1', policy), false);
    assert.equal(permits('http://receiver.internal:8080/', '8.8.8.8', policy), false);
    assert.equal(permits('https://receiver.internal:8080/', '8.8.8.8', policy), false);
  });

  it('permits a named host at any address, and no other host at that address', () => {
    const policy = policyOf('receiver.internal:443');

    assert.equal(permits('https://receiver.internal/', '10.0.0.7', policy), true);
    assert.equal(permits('https://RECEIVER.internal./', '10.0.0.7', policy), true);
    assert.equal(permits('https://evil.internal/', '10.0.0.7', policy), false);
    assert.equal(permits('https://10.0.0.7/', '10.0.0.7', policy), false);
  });

  it('permits public addresses over https on the configured ports only', () => {
    assert.equal(permits('https://example.com/', '8.8.8.8', policyOf()), true);
    assert.equal(permits('http://example.com:443/', '8.8.8.8', policyOf()), false);
    assert.equal(permits('https://example.com:22/', '8.8.8.8', policyOf()), false);
    assert.equal(permits('https://example.com/', '::ffff:8.8.8.8', policyOf('8.0.0.0/8:443')), false);
  });
});
