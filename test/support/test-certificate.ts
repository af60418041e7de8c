/**
 * Makes certificates for tests: self-signed, for 127.0.0.1 and localhost, each with a key and a name of its own. Node
 * can sign but not create certificates, so the few structures of RFC 5280 that are needed are built here.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

export interface TestCertificate {
  /** PEM. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
}

const [INTEGER, BIT_STRING, OCTET_STRING, UTF8, UTC_TIME, SEQUENCE, SET] = [0x02, 0x03, 0x04, 0x0c, 0x17, 0x30, 0x31];
const ECDSA_WITH_SHA256 = '06082a8648ce3d040302';
const COMMON_NAME = '0603550403';
const SUBJECT_ALT_NAME = '0603551d11';

/** @param name its common name, by which a test recognizes it. */
export function makeCertificate(name: string): TestCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(SEQUENCE, hex(ECDSA_WITH_SHA256));
  const who = der(SEQUENCE, der(SET, der(SEQUENCE, hex(COMMON_NAME), der(UTF8, Buffer.from(name)))));
  const day = 86_400_000;
  const validity = der(SEQUENCE, utcTime(Date.now() - day), utcTime(Date.now() + 30 * day));
  const names = der(SEQUENCE, der(0x82, Buffer.from('localhost')), der(0x87, Buffer.from([127, 0, 0, 1])));
  const extensions = der(0xa3, der(SEQUENCE, der(SEQUENCE, hex(SUBJECT_ALT_NAME), der(OCTET_STRING, names))));
  const version3 = der(0xa0, der(INTEGER, Buffer.from([2])));
  const serial = der(INTEGER, Buffer.concat([Buffer.from([1]), randomBytes(8)]));
  const key = publicKey.export({ type: 'spki', format: 'der' });
  const body = der(SEQUENCE, version3, serial, algorithm, who, validity, who, key, extensions);
  const signature = der(BIT_STRING, Buffer.from([0]), sign('sha256', body, privateKey));
  return {
    cert: pem('CERTIFICATE', der(SEQUENCE, body, algorithm, signature)),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** One element: its tag, its length and its content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function utcTime(at: number): Buffer {
  return der(UTC_TIME, Buffer.from(`${new Date(at).toISOString().replace(/\D/g, '').slice(2, 14)}Z`));
}

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex');
}

function pem(label: string, bytes: Buffer): string {
  return `-----BEGIN ${label}-----\n${bytes.toString('base64').replace(/.{64}/g, '$&\n').trimEnd()}\n-----END ${label}-----\n`;
}
