/** `@google/genai` at Vertex AI: content, and videos as operations. */
import { GenerateVideosOperation, GoogleGenAI } from '@google/genai';
import { OAuth2Client } from 'google-auth-library';

/** A client that already has its access token. */
const authClient = new OAuth2Client();
authClient.setCredentials({ access_token: 'the-token' });

const { models, operations } = new GoogleGenAI({
  vertexai: true,
  apiVersion: 'v1',
  project: 'the-project',
  location: 'us-central1',
  googleAuthOptions: { authClient },
});

export const calls = {
  generate: (parameters) => models.generateContent(parameters),
  generateVideos: (parameters) => models.generateVideos(parameters),
  operation(name) {
    const operation = new GenerateVideosOperation();
    operation.name = name;
    return operations.getVideosOperation({ operation });
  },
};
