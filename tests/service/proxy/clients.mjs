// openai-node and the AI SDK through the proxy; prints what they read as JSON.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { url, modules, redargue } = JSON.parse(process.argv[2]);
const require = createRequire(modules + "/");
const load = (name) => import(pathToFileURL(require.resolve(name)));
const named = (loaded, name) => loaded[name] ?? loaded.default?.[name];
const messages = [{ role: "user", content: "When was it opened?" }];
const told = {};

const openaiModule = await load("openai");
const OpenAI = named(openaiModule, "OpenAI") ?? openaiModule.default;
const client = new OpenAI({ baseURL: url, apiKey: "sk-any", maxRetries: 0 });
const whole = (await client.chat.completions.create({ model: "m", messages, redargue })).choices[0].message;
told["openai whole"] = { text: whole.content, outcome: whole.redargue.outcome };

let text = "";
let outcome;
for await (const part of await client.chat.completions.create({ model: "m", messages, redargue, stream: true })) {
  text += part.choices[0].delta.content ?? "";
  outcome = part.choices[0].delta.redargue?.outcome ?? outcome;
}
told["openai stream"] = { text, outcome };

const helper = await client.chat.completions.stream({ model: "m", messages, redargue }).finalMessage();
told["openai helper"] = { text: helper.content, outcome: helper.redargue.outcome };

const { generateText, streamText } = await load("ai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
const provider = createOpenAICompatible({
  name: "redargue",
  baseURL: url,
  apiKey: "sk-any",
  transformRequestBody: (body) => ({ ...body, redargue }),
  metadataExtractor: {
    extractMetadata: async ({ parsedBody }) => ({ redargue: { outcome: parsedBody.choices[0].message.redargue.outcome } }),
    createStreamExtractor: () => {
      let seen;
      return {
        processChunk: (chunk) => { seen = chunk.choices?.[0]?.delta?.redargue?.outcome ?? seen; },
        buildMetadata: () => ({ redargue: { outcome: seen } }),
      };
    },
  },
});
const made = await generateText({ model: provider("m"), messages });
told["ai whole"] = { text: made.text, outcome: made.providerMetadata.redargue.outcome };
const stream = streamText({ model: provider("m"), messages });
let streamed = "";
for await (const part of stream.textStream) streamed += part;
told["ai stream"] = { text: streamed, outcome: (await stream.providerMetadata).redargue.outcome };
console.log(JSON.stringify(told));
