import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isPublicAddress, isSameAddress, readHost } from '../../src/egress/address.ts';

describe('isPublicAddress', () => {
  // Addresses themselves: address-table.test.ts.
  it('is false for what is no address as sockets report it', () => {
    const zoned = ['fe80::1%eth0', '2606:4700:4700::1111%eth0', 'ff02:0:0:0:0:0:0:2'];
    const others = ['', 'localhost', '2130706433', '0x7f000001', '127.1', '8.8.8', '08.8.8.8', '8.8.8.8.'];
    for (const text of [...zoned, ...others]) assert.equal(isPublicAddress(text), false, text);
  });

  it('is false for every IPv6 address outside 2000::/3', () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const isOutside = (groups[0] ?? 0) >> 13 !== 1;
        const address = groups.map((part) => part.toString(16)).join(':');
        return !isOutside || !isPublicAddress(address);
      }),
    );
  });
});

describe('readHost', () => {
  it('reads every spelling of an IPv4 address', () => {
    const short = ['127.0.0.1', '127.0.0.1.', '127.1', '127.0.1', '2130706433'];
    const others = ['017700000001', '0177.0.0.1', '0x7f000001', '0x7f.0.0.1', '0X7F.1', '0x7f.0.0.0x1'];
    for (const host of [...short, ...others]) {
      assert.deepEqual(readHost(host), { kind: 'address', address: '127.0.0.1' }, host);
    }
  });

  it('reads IPv6 with and without brackets, and leaves what it embeds as it is', () => {
    assert.deepEqual(readHost('[::1]'), { kind: 'address', address: '::1' });
    assert.deepEqual(readHost('0:0:0:0:0:0:0:1'), { kind: 'address', address: '::1' });
    assert.deepEqual(readHost('[::ffff:127.0.0.1]'), { kind: 'address', address: '::ffff:7f00:1' });
  });

  it('accepts nothing that is neither an address nor a name', () => {
    const numbers = ['[::1%lo]', 'fe80::1%25eth0', '127.0.0.256', '4294967296', '1.2.3.4.5', '08.1.1.1', 'a.0x7g1.9'];
    const names = ['', '.', 'a..b', 'example.com..', '-a.test', 'a b.test', 'a*.test', `${'a'.repeat(64)}.test`];
    for (const host of [...numbers, ...names]) assert.deepEqual(readHost(host), { kind: 'invalid' }, host);
  });

  it('puts names in lower case and drops the final dot', () => {
    assert.deepEqual(readHost('Receiver_1.Example.COM.'), { kind: 'name', name: 'receiver_1.example.com' });
  });
});

describe('isSameAddress', () => {
  it('compares addresses, not spellings', () => {
    assert.equal(isSameAddress('2606:4700::1', '2606:4700:0:0::0001'), true);
    assert.equal(isSameAddress('127.0.0.1', '127.0.0.2'), false);
    assert.equal(isSameAddress('127.0.0.1', '::ffff:127.0.0.1'), false);
    assert.equal(isSameAddress('127.0.0.1', undefined), false);
  });
});
