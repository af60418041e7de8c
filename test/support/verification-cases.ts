/**
 * What a receiver must accept and what it must reject, in any language: the cases that the dashboard's verification
 * code is tested with. Each takes a genuine delivery of Darkroom's and returns what reaches the receiver. Signatures
 * that are computed here follow the contract's text alone (contract §6).
 */
import { createHmac } from 'node:crypto';

/** The secret that the receiver knows; not ASCII, so that signing characters instead of bytes is detected. */
export const RECEIVER_SECRET = 'a secret of the receiver, with ü';

/** One request on its way. */
export interface Delivery {
  /** By their names as sent. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface VerificationCase {
  /** The rest of the test's name: “accepts …”, “rejects …”. */
  readonly what: string;
  /**
   * The sender of the delivery: the account whose secret the receiver knows, one with another secret, or one without
   * any.
   */
  readonly sender: 'known' | 'stranger' | 'keyless';
  readonly isAccepted: boolean;
  /** The modification in transit; default: none. */
  readonly alter?: (delivery: Delivery) => Delivery;
}

const TIMESTAMP = 'X-Darkroom-Timestamp';
const SIGNATURE = 'X-Darkroom-Signature';
/** Receivers tolerate 300 s, either way; these are well within and well beyond, for slow machines. */
const WITHIN_SECONDS = 200;
const BEYOND_SECONDS = 400;

const hmac = (timestamp: string, body: Buffer): string =>
  createHmac('sha256', Buffer.from(RECEIVER_SECRET, 'utf8')).update(`${timestamp}.`).update(body).digest('hex');

/** The same, with additional or changed headers. */
const withHeaders = (delivery: Delivery, headers: Readonly<Record<string, string>>): Delivery => ({
  ...delivery,
  headers: { ...delivery.headers, ...headers },
});

const without = ({ headers, body }: Delivery, dropped: string): Delivery => ({
  headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name !== dropped)),
  body,
});

/** The value of a header; a delivery without it was not sent by Darkroom. */
function headerOf({ headers }: Delivery, name: string): string {
  const value = headers[name];
  if (value === undefined) throw new Error(`it came without ${name}`);
  return value;
}

/** Signed with the secret that the receiver knows, for a given time. */
const signedAt = (delivery: Delivery, timestamp: string): Delivery =>
  withHeaders(delivery, { [TIMESTAMP]: timestamp, [SIGNATURE]: hmac(timestamp, delivery.body) });

/** Forms that genuine callbacks may have and that a parser would change when serializing them again. */
function oddlyWritten(delivery: Delivery): Delivery {
  const { taskId } = JSON.parse(delivery.body.toString('utf8')) as { readonly taskId: string };
  const text = `{ "taskId":"${taskId}" ,\r\n\t"status": "success", "size": 1.0, "seed": 12345678901234567890,
    "url": "https:\\/\\/example.com\\/", "note": "gr\\u00fcn, grün ✓ \u{1F3A8}", "size": 2e0 }\n`;
  return signedAt({ ...delivery, body: Buffer.from(text, 'utf8') }, headerOf(delivery, TIMESTAMP));
}

const secondsFromNow = (seconds: number): string => String(Math.floor(Date.now() / 1000) + seconds);

const altered = (text: string, replacement: string) => (delivery: Delivery) => {
  const before = delivery.body.toString('utf8');
  const after = before.replace(text, replacement);
  if (after === before) throw new Error(`there is no ${text} in it`);
  return { ...delivery, body: Buffer.from(after, 'utf8') };
};

const resigned = (change: (signature: string) => string) => (delivery: Delivery) =>
  withHeaders(delivery, { [SIGNATURE]: change(headerOf(delivery, SIGNATURE)) });

const ACCEPTED: readonly Omit<VerificationCase, 'isAccepted' | 'sender'>[] = [
  { what: 'what was delivered, as it came' },
  {
    what: 'it with the names of its headers in small letters, as proxies write them',
    alter: ({ headers, body }) => ({
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
      body,
    }),
  },
  { what: 'a body of bytes that a parser would write otherwise', alter: oddlyWritten },
  { what: 'one that was under way for minutes', alter: (each) => signedAt(each, secondsFromNow(-WITHIN_SECONDS)) },
  { what: 'one from a clock that is ahead', alter: (each) => signedAt(each, secondsFromNow(WITHIN_SECONDS)) },
];

const REJECTED: readonly Omit<VerificationCase, 'isAccepted' | 'sender'>[] = [
  { what: 'a body in which a word was altered', alter: altered('"success"', '"suckess"') },
  {
    what: 'a body to which a blank was added',
    alter: (each) => ({ ...each, body: Buffer.concat([each.body, Buffer.from(' ')]) }),
  },
  { what: 'a body that was cut short', alter: (each) => ({ ...each, body: each.body.subarray(0, -1) }) },
  { what: 'an empty body', alter: (each) => ({ ...each, body: Buffer.alloc(0) }) },
  {
    what: 'a body that was parsed and written anew on the way',
    alter: (each) => {
      const odd = oddlyWritten(each);
      return { ...odd, body: Buffer.from(JSON.stringify(JSON.parse(odd.body.toString('utf8')))) };
    },
  },
  { what: 'one without its signature', alter: (each) => without(each, SIGNATURE) },
  { what: 'one without its time', alter: (each) => without(each, TIMESTAMP) },
  { what: 'an empty signature', alter: resigned(() => '') },
  { what: 'half a signature', alter: resigned((signature) => signature.slice(0, 32)) },
  {
    what: 'a signature with one digit changed',
    alter: resigned((signature) => (signature.startsWith('0') ? '1' : '0') + signature.slice(1)),
  },
  { what: 'a signature that is no hexadecimal number', alter: resigned(() => 'ü'.repeat(32)) },
  {
    what: 'one whose time was altered',
    alter: (each) => withHeaders(each, { [TIMESTAMP]: String(Number(headerOf(each, TIMESTAMP)) + 1) }),
  },
  { what: 'one that is sent again later, as it was', alter: (each) => signedAt(each, secondsFromNow(-BEYOND_SECONDS)) },
  { what: 'one from a time to come', alter: (each) => signedAt(each, secondsFromNow(BEYOND_SECONDS)) },
  { what: 'a time that is beyond all numbers', alter: (each) => signedAt(each, '9'.repeat(400)) },
  { what: 'a time that is no number', alter: (each) => signedAt(each, 'now') },
  { what: 'an empty time', alter: (each) => signedAt(each, '') },
];

export const VERIFICATION_CASES: readonly VerificationCase[] = [
  ...ACCEPTED.map((each) => ({ ...each, sender: 'known', isAccepted: true }) as const),
  ...REJECTED.map((each) => ({ ...each, sender: 'known', isAccepted: false }) as const),
  { what: 'what is signed with a key that the receiver does not know', sender: 'stranger', isAccepted: false },
  { what: 'what is not signed', sender: 'keyless', isAccepted: false },
];
