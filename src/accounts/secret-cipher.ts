/**
 * Encrypts the secrets that are stored (AES-256-GCM, bound to their owner: an account, or an upstream), and decrypts them with the current key
 * or one of its fallbacks, so that `ENCRYPTION_KEY` can be rotated while processes with the old one and the new one
 * run.
 *
 * Form: 12 bytes IV, 16 bytes tag, ciphertext. It names no key: the tag shows whether one is right.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { DarkroomError } from '../domain/darkroom-error.ts';

const IV_BYTES = 12;
const TAG_BYTES = 16;
// Binds the derived key to this use.
const PURPOSE = 'darkroom webhook secrets v1';

/** What is stored was encrypted with a key that is not among those given: it can only be removed and set anew. */
export class WrongEncryptionKeyError extends DarkroomError {
  override readonly name = 'WrongEncryptionKeyError';
  override readonly kind = 'operator_action_required';
}

export interface SecretCipher {
  encrypt(owner: string, secret: string): Buffer;
  /**
   * @returns the secret, and whether the current key decrypts it and not only a fallback.
   * @throws {WrongEncryptionKeyError} no key does.
   */
  decrypt(owner: string, encrypted: Buffer): { readonly secret: string; readonly isCurrent: boolean };
}

/** @param encryptionKey of the configuration; keys of the cipher are derived from it and the fallbacks. */
export function createSecretCipher(encryptionKey: string, ...fallbacks: readonly string[]): SecretCipher {
  const current = deriveKey(encryptionKey);
  const keys = [current, ...fallbacks.map(deriveKey)];
  return {
    encrypt(owner, secret) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', current, iv);
      cipher.setAAD(Buffer.from(owner));
      const ciphertext = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), ciphertext]);
    },
    decrypt(owner, encrypted) {
      let cause: unknown;
      for (const key of keys) {
        const decipher = createDecipheriv('aes-256-gcm', key, encrypted.subarray(0, IV_BYTES));
        decipher.setAAD(Buffer.from(owner));
        decipher.setAuthTag(encrypted.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
        const decrypted = decipher.update(encrypted.subarray(IV_BYTES + TAG_BYTES));
        try {
          const secret = Buffer.concat([decrypted, decipher.final()]).toString('utf8');
          return { secret, isCurrent: key === current };
        } catch (error) {
          cause = error;
        }
      }
      throw new WrongEncryptionKeyError(
        `neither ENCRYPTION_KEY nor ENCRYPTION_KEY_FALLBACKS has the key that the stored secret of ${owner} was encrypted with`,
        { cause },
      );
    },
  };
}

function deriveKey(encryptionKey: string): Buffer {
  return Buffer.from(hkdfSync('sha256', encryptionKey, '', PURPOSE, 32));
}
