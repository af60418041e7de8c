// Writes the path of Chromium, which its package extracts into TMPDIR.
import chromium from '@sparticuz/chromium';

process.stdout.write(await chromium.executablePath());
