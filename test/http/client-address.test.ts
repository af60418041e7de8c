/** The client address of a request: only a trusted proxy can influence it. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { BlockList } from 'node:net';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { addressBlock, createClientAddress } from '../../src/http/app/client-address.ts';

function addressOf(peer: string | undefined, forwarded: string | string[] | undefined, proxies: string[]): string {
  const list = new BlockList();
  for (const proxy of proxies) {
    const [address = '', bits = ''] = proxy.split('/');
    list.addSubnet(address, Number(bits), address.includes(':') ? 'ipv6' : 'ipv4');
  }
  const values = forwarded === undefined ? undefined : [forwarded].flat();
  const request = { socket: { remoteAddress: peer }, headersDistinct: { 'x-forwarded-for': values } };
  return createClientAddress(list)(request as unknown as IncomingMessage);
}

describe("the client's address", () => {
  // Proves C7-10.
  it("is the socket's peer when no proxy is trusted, whatever the header says", () => {
    assert.equal(addressOf('203.0.113.9', '1.2.3.4', []), '203.0.113.9');
    assert.equal(addressOf('203.0.113.9', '1.2.3.4', ['10.0.0.0/8']), '203.0.113.9');
    assert.equal(addressOf('::ffff:203.0.113.9', undefined, []), '203.0.113.9');
    assert.equal(addressOf(undefined, '1.2.3.4', ['0.0.0.0/0']), 'unknown');
  });

  // Proves C7-10.
  it('is the right-most entry that is not a trusted proxy', () => {
    const proxies = ['10.0.0.0/8', 'fd00::/8'];
    assert.equal(addressOf('10.0.0.1', '203.0.113.9', proxies), '203.0.113.9');
    assert.equal(addressOf('10.0.0.1', '203.0.113.9, 10.0.0.7', proxies), '203.0.113.9');
    assert.equal(addressOf('10.0.0.1', '203.0.113.9, 10.0.0.7,fd00::7', proxies), '203.0.113.9');
    assert.equal(addressOf('fd00::1', '2001:db8::5', proxies), '2001:db8::5');
    assert.equal(addressOf('::ffff:10.0.0.1', '::ffff:203.0.113.9', proxies), '203.0.113.9');
  });

  it('cannot be chosen by the client: what it wrote is left of what the proxy added', () => {
    assert.equal(addressOf('10.0.0.1', '1.2.3.4, 203.0.113.9', ['10.0.0.0/8']), '203.0.113.9');
    assert.equal(addressOf('10.0.0.1', '10.0.0.2, 10.0.0.3, 203.0.113.9', ['10.0.0.0/8']), '203.0.113.9');
  });

  it('is read over several headers in their order', () => {
    assert.equal(addressOf('10.0.0.1', ['1.2.3.4', '203.0.113.9'], ['10.0.0.0/8']), '203.0.113.9');
    assert.equal(addressOf('10.0.0.1', ['1.2.3.4, 203.0.113.9', '10.0.0.2'], ['10.0.0.0/8']), '203.0.113.9');
  });

  it('is the nearest proxy when the entry before it is not an address', () => {
    for (const junk of [
      '',
      'unknown',
      '"unknown"',
      'unknown:1234',
      '_hidden',
      '_hidden:_port',
      '203.0.113.9:port',
      '203.0.113.9:123456',
      '[203.0.113.9',
      '::ffff:203.0.113.9:port',
      '2001:db8::5:123456',
      '[2001:db8::5',
      '2001:db8::5]',
      '[2001:db8::5]80',
      '[]:80',
      ':80',
      '1.2.3',
      ',',
      '%00',
    ]) {
      assert.equal(addressOf('10.0.0.1', junk, ['10.0.0.0/8']), '10.0.0.1', junk);
      assert.equal(addressOf('10.0.0.1', `${junk}, 10.0.0.2`, ['10.0.0.0/8']), '10.0.0.2', junk);
    }
  });

  it('is found in every form in which common proxies write it', () => {
    const written: readonly [string, string][] = [
      ['203.0.113.9:5678', '203.0.113.9'],
      ['"203.0.113.9:5678"', '203.0.113.9'],
      ['  203.0.113.9  ', '203.0.113.9'],
      ['\t203.0.113.9', '203.0.113.9'],
      ['2001:db8::5', '2001:db8::5'],
      ['2001:db8:0:0:0:0:0:5', '2001:db8:0:0:0:0:0:5'],
      ['[2001:db8::5]', '2001:db8::5'],
      ['[2001:db8::5]:5678', '2001:db8::5'],
      ['"[2001:db8::5]:5678"', '2001:db8::5'],
      ['::ffff:203.0.113.9', '203.0.113.9'],
      ['::ffff:cb00:7109', '203.0.113.9'],
      ['[::ffff:203.0.113.9]:5678', '203.0.113.9'],
      ['::ffff:203.0.113.9:443', '203.0.113.9'],
      ['[203.0.113.9]:80', '203.0.113.9'],
      ['[203.0.113.9]', '203.0.113.9'],
      ['203.0.113.9,', '203.0.113.9'],
      ['203.0.113.9, ,', '203.0.113.9'],
    ];
    for (const [entry, address] of written) {
      assert.equal(addressOf('10.0.0.1', entry, ['10.0.0.0/8']), address, entry);
      assert.equal(addressOf('10.0.0.1', `6.6.6.6, ${entry}`, ['10.0.0.0/8']), address, entry);
      assert.equal(addressOf('10.0.0.1', ['6.6.6.6', entry], ['10.0.0.0/8']), address, entry);
      assert.equal(addressOf('10.0.0.1', `${entry} ,10.0.0.2:443`, ['10.0.0.0/8']), address, entry);
    }
  });

  it('is the left-most entry when all of them are trusted proxies', () => {
    assert.equal(addressOf('10.0.0.1', '10.0.0.3, 10.0.0.2', ['10.0.0.0/8']), '10.0.0.3');
  });
});

describe('the unit of a limit by address', () => {
  it('is an IPv4 address', () => {
    assert.equal(addressBlock('203.0.113.9'), '203.0.113.9');
    assert.equal(addressBlock('unknown'), 'unknown');
  });

  it('is the /64 of an IPv6 address, however that is spelled', () => {
    for (const spelling of [
      '2001:db8:0:7::1',
      '2001:db8:0:7:ffff:ffff:ffff:ffff',
      '2001:0DB8:0000:0007::',
      '2001:db8::7:0:0:0:1',
      '2001:db8:0:7::192.0.2.1',
      '2001:db8:0:7::1%eth0',
    ]) {
      assert.equal(addressBlock(spelling), '2001:db8:0:7::/64', spelling);
    }
    assert.equal(addressBlock('::1'), '0:0:0:0::/64');
    assert.equal(addressBlock('fe80::1'), 'fe80:0:0:0::/64');
    assert.equal(addressBlock('1::'), '1:0:0:0::/64');
  });

  it('applies to any address: its first four groups', () => {
    const group = fc.oneof(fc.constant(0), fc.nat({ max: 0xffff }));
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const written = groups.map((value) => value.toString(16));
        assert.equal(addressBlock(written.join(':')), `${written.slice(0, 4).join(':')}::/64`);
      }),
    );
  });
});
