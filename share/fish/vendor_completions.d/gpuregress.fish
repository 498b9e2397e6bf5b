function _gpuregress_completion;
    set -l response (env _GPUREGRESS_COMPLETE=fish_complete COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t)         gpuregress);
    for completion in $response;
        set -l metadata (string split --max 1 "," $completion);
        switch $metadata[1];
            case dir; __fish_complete_directories $metadata[2];
            case file; __fish_complete_path $metadata[2];
            case plain; echo $metadata[2];
        end;
    end;
end;

complete --no-files --command gpuregress --arguments "(_gpuregress_completion)";
