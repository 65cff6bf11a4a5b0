// Runs a GGUF with llama.cpp through node-llama-cpp and prints what it would say next.
//
//     node llama_cpp.mjs MODEL.gguf REQUEST.json > ANSWER.json
//
// REQUEST.json: {"prompts": [[ids]...], "tokens": N}. ANSWER.json: for each prompt the greedy
// continuation and, per generated token, the largest probabilities as [id, probability].
// Must be started in a directory whose node_modules holds node-llama-cpp (see
// run_llama_cpp.sh).
import {createRequire} from "node:module";
import {readFile} from "node:fs/promises";
import {pathToFileURL} from "node:url";

const KEPT = 16;

async function loadLibrary() {
    const require = createRequire(process.cwd() + "/");
    const entry = require.resolve("node-llama-cpp");
    return import(pathToFileURL(entry).href);
}

async function openModel(library, path) {
    const llama = await library.getLlama({gpu: false, build: "never", logLevel: "error"});
    const model = await llama.loadModel({modelPath: path, gpuLayers: 0});
    return model.createContext({
        contextSize: 512, threads: 1, flashAttention: false,
        experimentalKvCacheKeyType: "F32", experimentalKvCacheValueType: "F32"
    });
}

const NEXT = {
    generateNext: {
        token: true, probabilities: true,
        options: {temperature: 1, topK: 0, topP: 1, minP: 0}
    }
};

// The last token of `ids` is asked for its successor; the others only fill the state.
async function evaluate(sequence, ids) {
    const input = ids.map((id, i) => (i === ids.length - 1 ? [id, NEXT] : id));
    const output = await sequence.controlledEvaluate(input);
    return [...output[ids.length - 1].next.probabilities.entries()]
        .sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, KEPT);
}

async function answer(context, prompt, tokens) {
    const sequence = context.getSequence();
    const continuation = [];
    const probabilities = [];
    let input = prompt;
    while (continuation.length < tokens) {
        const best = await evaluate(sequence, input);
        probabilities.push(best);
        continuation.push(best[0][0]);
        input = [best[0][0]];
    }
    await sequence.clearHistory();
    sequence.dispose();
    return {prompt, continuation, probabilities};
}

const [path, requestPath] = process.argv.slice(2);
const request = JSON.parse(await readFile(requestPath, "utf8"));
const context = await openModel(await loadLibrary(), path);
const answers = [];
for (const prompt of request.prompts) {
    answers.push(await answer(context, prompt, request.tokens));
}
console.log(JSON.stringify({answers}));
process.exit(0);
