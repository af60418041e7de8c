/** The test provider's spoken results: a real WAV file whose bytes depend on the text alone. */
import { createHash } from 'node:crypto';

const SAMPLE_RATE = 8_000;
/** The length of what the test provider speaks. */
const SECONDS = 0.25;

/** A tone whose pitch depends on the text: 16-bit PCM, mono. */
export function drawAudio(text: string, seconds: number = SECONDS): Buffer {
  const hertz = 200 + createHash('sha256').update(text).digest().readUInt16BE(0) / 100;
  const samples = SAMPLE_RATE * seconds;
  const wav = Buffer.alloc(44 + samples * 2);
  wav.write('RIFF', 0, 'latin1');
  wav.writeUInt32LE(wav.length - 8, 4);
  wav.write('WAVEfmt ', 8, 'latin1');
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(SAMPLE_RATE, 24);
  wav.writeUInt32LE(SAMPLE_RATE * 2, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36, 'latin1');
  wav.writeUInt32LE(samples * 2, 40);
  for (let index = 0; index < samples; index++) {
    const value = Math.sin((2 * Math.PI * hertz * index) / SAMPLE_RATE) * 12_000;
    wav.writeInt16LE(Math.round(value), 44 + index * 2);
  }
  return wav;
}
