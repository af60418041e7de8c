/** Untrusted bytes, buffered until they are complete; for all modules that receive some. */
export { CollectedBytes } from '@darkroom/media/collected-bytes';
