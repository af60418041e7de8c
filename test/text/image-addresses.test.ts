import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { parseAllowList } from '../../src/egress/operator-lists.ts';
import type { ResolveName } from '../../src/egress/name-resolver.ts';
import { ShareExhaustedError } from '../../src/limits/tenant-shares.ts';
import { MAX_IMAGE_HOSTS, checkImageAddresses, imagesOfMessages, imagesOfInput } from '../../src/text/images.ts';
import { InvalidTextRequest } from '../../src/text/text-failure.ts';
import { egressOf } from '../egress/loopback.ts';

const ACCOUNT = { accountId: 'ac-1' };
const publicly: ResolveName = async () => ['8.8.8.8'];

function createValidator(t: TestContext, resolve: ResolveName = publicly, allow: readonly string[] = []) {
  return {
    egressPolicy: { allow: parseAllowList(allow), ports: [443] },
    egress: egressOf(t, allow, { resolve }).egress,
  };
}

const isRejection = (field: string, problem: RegExp) => (error: unknown) =>
  error instanceof InvalidTextRequest &&
  error.param === field &&
  error.message.startsWith(`${field}: `) &&
  problem.test(error.message);

describe('the URLs of images that an upstream fetches', () => {
  const REJECTED: readonly (readonly [string, RegExp])[] = [
    [
      'https://10.0.0.5/a.png',
      /10\.0\.0\.5 is not a public address; the operator can allow it with EGRESS_ALLOW=10\.0\.0\.5:443$/,
    ],
    ['https://[::1]/a.png', /::1 is not a public address/],
    ['https://2130706433/a.png', /127\.0\.0\.1 is not a public address/],
    ['https://169.254.169.254/latest', /169\.254\.169\.254 is not a public address/],
    ['https://localhost/a.png', /localhost is not a public address/],
    ['https://user:secret@example.com/a.png', /must not contain user information/],
    ['https://example.com:8080/a.png', /port 8080 is not allowed; want 443/],
    ['http://example.com/a.png', /must be https/],
  ];
  for (const [url, problem] of REJECTED) {
    it(`do not include ${url}`, async (t) => {
      const messages = [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image', url },
          ],
        },
      ] as const;
      const item = { type: 'message', role: 'user', status: 'completed' } as const;
      const input = [{ ...item, content: [{ type: 'input_image', image_url: url, detail: 'auto' }] }] as const;

      await assert.rejects(
        checkImageAddresses(imagesOfMessages(messages), createValidator(t), ACCOUNT),
        isRejection('messages.0.content.1.image_url.url', problem),
      );
      await assert.rejects(
        checkImageAddresses(imagesOfInput(input), createValidator(t), ACCOUNT),
        isRejection('input.0.content.0.image_url', problem),
      );
    });
  }

  it('do not include one that a function returned', () => {
    const output = [{ type: 'input_image', image_url: 'https://10.0.0.5/', detail: 'auto' }] as const;

    assert.deepEqual(imagesOfInput([{ type: 'function_call_output', status: 'completed', call_id: 'c', output }]), [
      { field: 'input.0.output.0.image_url', url: 'https://10.0.0.5/' },
    ]);
  });

  const FIELD = 'messages.0.content.0.image_url.url';
  const image = (url: string) => ({ field: FIELD, url });
  const check = (t: TestContext, url: string, resolve?: ResolveName, allow?: readonly string[]) =>
    checkImageAddresses([image(url)], createValidator(t, resolve, allow), ACCOUNT);

  it('are resolved, and rejected when one address of a name is not public', async (t) => {
    await assert.rejects(
      check(t, 'https://harmless.test/a.png', async () => ['8.8.8.8', '10.0.0.5']),
      isRejection(FIELD, /the host does not have a public address/),
    );
  });

  it('are passed on when they are public, allowed or data URLs', async (t) => {
    const allowed = 'http://10.0.0.5:8080';

    await check(t, 'https://example.com/a.png');
    await check(t, `${allowed}/a.png`, publicly, [allowed]);
    await check(t, 'data:image/png;base64,AAAA');
  });

  const failing =
    (code: string): ResolveName =>
    () =>
      Promise.reject(Object.assign(new Error(code), { code }));

  it('are rejected when their name does not exist here, because the upstream may have search domains', async (t) => {
    for (const [code, problem] of [
      ['ENOTFOUND', /the host does not exist/],
      ['ENODATA', /the host does not exist/],
      ['ESERVFAIL', /the host could not be resolved in time/],
      ['ETIMEOUT', /the host could not be resolved in time/],
    ] as const) {
      await assert.rejects(check(t, 'https://minio.storage/a.png', failing(code)), isRejection(FIELD, problem));
    }
  });

  it('are passed on unresolved when there is no name server, and when the operator allows the name', async (t) => {
    await check(t, 'https://example.com/a.png', failing('ECONNREFUSED'));
    await check(t, 'https://minio.storage/a.png', failing('ENOTFOUND'), ['minio.storage:443']);
  });

  it('are not passed on when the account has too many lookups in progress', async (t) => {
    const busy: ResolveName = () => Promise.reject(new ShareExhaustedError('resolver', 'tenant', 1));

    await assert.rejects(check(t, 'https://intranet.test/a.png', busy), ShareExhaustedError);
  });

  it('have a maximum number of hosts, and each is resolved once', async (t) => {
    const asked: string[] = [];
    const validate = createValidator(t, async (name) => {
      asked.push(name);
      return ['8.8.8.8'];
    });
    const imagesOf = (hosts: number) =>
      Array.from({ length: 3 * hosts }, (_, index) => image(`https://${index % hosts}.test/${index}.png`));

    await checkImageAddresses(imagesOf(MAX_IMAGE_HOSTS), validate, ACCOUNT);
    assert.equal(asked.length, MAX_IMAGE_HOSTS);
    await assert.rejects(
      checkImageAddresses(imagesOf(MAX_IMAGE_HOSTS + 1), validate, ACCOUNT),
      isRejection(FIELD, /at most 16 hosts of images/),
    );
    assert.equal(asked.length, MAX_IMAGE_HOSTS);
  });
});
