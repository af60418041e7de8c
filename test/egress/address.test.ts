import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isPublicAddress, isSameAddress, readHost } from '../../src/egress/address.ts';

/** Not public. The list contains that of Smokescreen's TestClassifyAddr, and both ends of each special range. */
const BLOCKED = [
  ['0.0.0.0', '0.1.2.3', '0.255.255.255'],
  ['10.0.0.0', '10.0.0.1', '10.0.1.1', '10.255.255.255'],
  ['100.64.0.0', '100.64.0.1', '100.64.0.100', '100.100.100.200', '100.127.255.254', '100.127.255.255'],
  ['127.0.0.0', '127.0.0.1', '127.0.1.1', '127.255.255.255'],
  ['168.63.129.16', '169.254.0.0', '169.254.169.254', '169.254.170.2', '169.254.255.255'],
  ['172.16.0.0', '172.16.0.1', '172.16.1.1', '172.31.255.255'],
  ['192.0.0.1', '192.0.0.192', '192.0.2.1', '192.88.99.1', '192.168.0.1', '192.168.1.1', '192.168.255.255'],
  ['198.18.0.0', '198.19.255.255', '198.51.100.7', '203.0.113.7'],
  ['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.254', '255.255.255.255'],
  ['::', '::1', '::7f00:1', '::127.0.0.1', '::8.8.8.8'],
  ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:8.8.8.8', '::ffff:0:127.0.0.1'],
  ['64:ff9b::ac1c:5', '64:ff9b::c000:201', '64:ff9b::a00:1', '64:ff9b::808:808', '64:ff9b::ffff:ffff'],
  ['64:ff9b:1::1', '64:ff9c::1', '100::1'],
  ['2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2', '2001:0:1234:5678:9abc:def0:1234:5678'],
  ['2001:2::1', '2001:10::1', '2001:20::1', '2001:db8::1', '3fff::1'],
  ['2002:c000:201::1', '2002:a00:1::1', '2002:7f00:1::', '2002:808:808::1'],
  ['4000::1', '5f00::1', '8000::1', 'fc00::1', 'fd00::1', 'fd00:ec2::254'],
  ['fe80::1', 'fe80::1%eth0', 'febf::1', 'fec0::1', 'ff02::1', 'ff02:0:0:0:0:0:0:2'],
  ['2606:4700:4700::1111%eth0', '', 'localhost', '2130706433', '0x7f000001', '127.1', '8.8.8', '08.8.8.8', '8.8.8.8.'],
].flat();

const PUBLIC = [
  ['1.1.1.1', '8.8.8.8', '8.8.9.8', '9.255.255.255', '11.0.0.0', '93.184.216.34'],
  ['100.63.255.254', '100.63.255.255', '100.128.0.0', '100.128.0.1', '126.255.255.255', '128.0.0.0'],
  ['168.63.129.15', '168.63.129.17', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0'],
  ['192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0', '223.255.255.255'],
  ['2001:4860:4860::8888', '2606:4700:4700::1111', '2a00:1450:4001::1', '2003::1'],
].flat();

describe('isPublicAddress', () => {
  for (const address of BLOCKED) {
    it(`is false for ${address === '' ? 'an empty text' : address}`, () =>
      assert.equal(isPublicAddress(address), false));
  }
  for (const address of PUBLIC) {
    it(`is true for ${address}`, () => assert.equal(isPublicAddress(address), true));
  }

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
  const LOOPBACK_SPELLINGS = [
    '127.0.0.1',
    '127.0.0.1.',
    '127.1',
    '127.0.1',
    '2130706433',
    '017700000001',
    '0177.0.0.1',
    '0x7f000001',
    '0x7f.0.0.1',
    '0X7F.1',
    '0x7f.0.0.0x1',
  ];
  for (const host of LOOPBACK_SPELLINGS) {
    it(`reads ${host} as 127.0.0.1`, () => {
      assert.deepEqual(readHost(host), { kind: 'address', address: '127.0.0.1' });
    });
  }

  it('reads IPv6 with and without brackets, and leaves what it embeds as it is', () => {
    assert.deepEqual(readHost('[::1]'), { kind: 'address', address: '::1' });
    assert.deepEqual(readHost('0:0:0:0:0:0:0:1'), { kind: 'address', address: '::1' });
    assert.deepEqual(readHost('[::ffff:127.0.0.1]'), { kind: 'address', address: '::ffff:7f00:1' });
  });

  for (const host of [
    '[::1%lo]',
    'fe80::1%25eth0',
    '127.0.0.256',
    '4294967296',
    '1.2.3.4.5',
    '08.1.1.1',
    'a.0x7g1.9',
  ]) {
    it(`accepts ${host} neither as a name nor as an address`, () =>
      assert.deepEqual(readHost(host), { kind: 'invalid' }));
  }
  for (const host of ['', '.', 'a..b', 'example.com..', '-a.test', 'a b.test', 'a*.test', `${'a'.repeat(64)}.test`]) {
    it(`rejects "${host}" as a name`, () => assert.deepEqual(readHost(host), { kind: 'invalid' }));
  }

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
